"""The address of a collection, such as ``qdrant://localhost:6333/photos``, and the secrets it may hold.

A value that is itself a URL or a list of settings, such as ``s3://KEY:SECRET@bucket?session_token=...``, is searched
for secrets too: as written and, level by level, percent-decoded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlencode, urlsplit

from unhub.foundation.errors import InputError

_SCHEME = re.compile(r"([a-z][a-z0-9+-]+):(?=//)", re.IGNORECASE)
_LIKELY = re.compile(r"[a-z][a-z0-9+-]+:/", re.IGNORECASE)  # meant as an address, even if a slash is missing
LONGEST = 4096  # characters of an address: the search for secrets takes more than linear time
OPEN = ("passfile", "sslkey")  # options whose names look like secrets but whose values are paths
USERS = ("pgvector", "postgresql")  # stores where a user needs no password; elsewhere one name before the @ is a key
MASK = "***"
_SWITCH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
SHORTEST = 3  # characters of a part of a secret that is worth hiding: shorter ones are in every other word
_SECRET = re.compile(r"pass|pwd|key|token|secret|credential|auth|signature|^sig$", re.IGNORECASE)
_SETTING = re.compile(r"""(?<![\w.-])(?P<name>[\w.-]+)["']?\s*[=:](?!//)\s*["']?(?=(?P<value>[^&;,\s"'}]+))""")
"""a name and its value, as in a query, in JSON or in a list"""


@dataclass(frozen=True)
class Address:
    """A store's URL in its parts. Its text holds no password and no key; only the client gets them.

    An option whose value holds a secret, as in ``uri=s3://KEY:SECRET@bucket``, is among the options with the secret
    masked, and whole among the secrets: the client gets ``value("uri")``.
    """

    scheme: str
    host: str
    port: int | None
    path: str  # what follows the host, decoded; for files it begins with / if it is absolute
    options: Mapping[str, str]
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        options = f"?{urlencode(sorted(self.options.items()), safe='/,.*')}" if self.options else ""
        return f"{self.scheme}://{user}{self.host}{port}{quote(self.path)}{options}"

    @property
    def file(self) -> str:
        """The path of a store that is a file or a folder: ``faiss://a/b.faiss`` or ``faiss:///a/b.faiss``."""
        return f"{self.host}{self.path}"

    @property
    def parts(self) -> tuple[str, str]:
        """What comes before the last slash of the path, and the name after it: ``qdrant:///data/photos``."""
        before, _, name = self.file.rstrip("/").rpartition("/")
        return before, name

    def absolute(self) -> Address:
        """The address of the same file or folder with an absolute path."""
        return replace(self, host="", path=os.path.abspath(os.path.expanduser(self.file)))

    def beside(self, name: str) -> Address:
        """The address of another collection of the same store: the last part of the path is replaced."""
        before, slash, _ = self.path.rstrip("/").rpartition("/")
        return replace(self, path=f"{before}/{name}") if slash else replace(self, host=name, path="")

    def value(self, name: str) -> str | None:
        """An option as the client needs it, including any secrets in it."""
        return self.secrets.get(name.lower(), self.options[name]) if name in self.options else None

    def secret(self, *names: str) -> str | None:
        """The first of these secrets that the URL has."""
        return next((self.secrets[name] for name in names if name in self.secrets), None)

    def number(self, name: str, otherwise: float) -> float:
        """A number among the options."""
        text = self.options.get(name)
        if text is None:
            return otherwise
        try:
            return float(text)
        except ValueError:
            raise InputError(f"{self}: {name} is {text!r}; give a number.") from None

    def switch(self, name: str) -> bool | None:
        """A true or false among the options; None if it is missing."""
        text = self.options.get(name)
        if text is not None and text.lower() not in _SWITCH:
            raise InputError(f"{self}: {name} is {text!r}; give true or false.")
        return None if text is None else _SWITCH[text.lower()]

    def allow(self, *names: str) -> None:
        """Refuses options that this store does not know."""
        unknown = [name for name in self.options if name not in names]
        if unknown:
            bare = replace(self, options={})
            raise InputError(f"{bare}: there is no option {unknown[0]!r}; known are {', '.join(names) or 'none'}.")

    def hide(self, text: str) -> str:
        """A client's message without the secrets of this address, however they are quoted."""
        whole = [each for each in (self.password, *self.secrets.values()) if each]
        values = {*whole, *(part for each in self.secrets.values() for part in secrets_in(each))}
        quotings = (str, lambda each: quote(each, safe=""), quote_plus, lambda each: repr(each)[1:-1])
        for spelling in sorted({quoted(each) for each in values for quoted in quotings}, key=len, reverse=True):
            text = text.replace(spelling, MASK)
        return text

    @property
    def has_secrets(self) -> bool:
        """Whether it holds a password or a key."""
        return bool(self.password or any(self.secrets.values()))


def is_address(source: object) -> bool:
    """Whether this is the URL of something and not a path.

    >>> is_address("qdrant://localhost/photos"), is_address("photos.npy"), is_address("C:/photos.npy")
    (True, False, False)
    """
    return isinstance(source, str) and _LIKELY.match(source) is not None


def parse(url: str) -> Address:
    """The parts of a store's URL.

    >>> address = parse("pgvector://me:secret@localhost/shop?table=items&column=embedding")
    >>> str(address)
    'pgvector://me@localhost/shop?column=embedding&table=items'
    >>> address.password, parse("faiss://photos.faiss").file
    ('secret', 'photos.faiss')
    """
    if len(url) > LONGEST:
        raise InputError(f"the address of a store has {len(url):,} characters; at most {LONGEST:,} are allowed.")
    match = _SCHEME.match(url)
    if match is None:
        shown = repr(masked(url)) if "@" not in url and len(url) <= 200 else "this text"  # it may hold a password
        raise InputError(f"{shown} is not the address of a store; write one such as qdrant://localhost/photos.")
    scheme = match[1].lower()
    try:
        split = urlsplit(url)
        port = split.port
        pairs = parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query))
    except ValueError:
        raise InputError(
            f"the address of the {scheme} store cannot be read; write it as {scheme}://host:port/name?option=value, "
            f"with % signs for odd characters, also in a password."
        ) from None
    if split.fragment:
        raise InputError(f"the address of the {scheme} store has a '#' in it; write %23 instead.")
    if "@" in split.path and split.netloc:
        raise InputError(f"the address of the {scheme} store has an '@' behind its host; write %40, and %2F for '/'.")
    if masked(split.path) != split.path and "://" in unquote(split.path):
        raise InputError(
            f"the address of the {scheme} store has another address with a secret in its path; give it as an option, "
            f"such as {scheme}:///name?uri=..."
        )
    _, mark, settings = unquote(split.path).partition(";")
    if mark and masked(settings) != settings:
        raise InputError(f"the address of the {scheme} store has a secret behind a ';'; write '?' instead.")
    options = {name: masked(value) for name, value in pairs if not _is_secret(name)}
    secrets = {name.lower(): value for name, value in pairs if _is_secret(name) or masked(value) != value}
    host = split.netloc.rpartition("@")[2]
    if port is not None:
        host = host.rpartition(":")[0]
    user = None if split.username is None else unquote(split.username)
    password = None if split.password is None else unquote(split.password)
    if user and password is None and scheme not in USERS:
        user, password = None, user
    return Address(scheme, unquote(host), port, unquote(split.path), options, user, password, secrets)


def without_secrets(url: str) -> str:
    """An address that can be shown and saved: the same text if it holds no secret.

    >>> without_secrets("qdrant://host/photos?api_key=K"), without_secrets("qdrant://host/photos")
    ('qdrant://host/photos', 'qdrant://host/photos')
    """
    try:
        address = parse(url)
    except InputError:
        return masked(url) if len(url) <= LONGEST else f"{masked(url[:LONGEST])}..."
    return str(address) if address.has_secrets else url


def _is_secret(name: str) -> bool:
    return is_secret_name(name) and name.lower() not in OPEN


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name is taken for a secret.

    >>> [is_secret_name(name) for name in ("api_key", "PGPASSWORD", "sig", "table")]
    [True, True, True, False]
    """
    return _SECRET.search(name) is not None


def masked(text: str) -> str:
    """The text with its secrets masked; unchanged if it has none.

    >>> masked("s3://KEY:SECRET@bucket/a?region=eu&session_token=T")
    's3://***@bucket/a?region=eu&session_token=***'
    >>> masked("s3%3A%2F%2FKEY%3ASECRET%40bucket"), masked("s3://bucket/100%25")
    ('s3://***@bucket', 's3://bucket/100%25')
    """
    level, changed = text, False
    while True:
        shown = level
        for start, end in reversed(_spans(level)):
            shown = f"{shown[:start]}{MASK}{shown[end:]}"
        changed |= shown != level
        level = unquote(shown)
        if level == shown:
            return level if changed else text


def secrets_in(text: str) -> Iterator[str]:
    """Every secret of a text, whole and in the parts that a client may show one by one."""
    level, before = text, ""
    while level != before:
        for start, end in _spans(level):
            for each in (level[start:end], unquote(level[start:end])):
                yield from (part for part in (each, *each.split(":")) if len(part) >= SHORTEST)
        level, before = unquote(level), level


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the secrets are: user and password, up to the last @ since a key may hold any sign; and settings."""
    first, last = text.find("//"), text.rfind("@")
    begin = first + 2 if 0 <= first < last else 0
    user = (begin, last) if last > begin and (begin or ":" in text[:last]) else (0, 0)
    candidates = [user, *(each.span("value") for each in _SETTING.finditer(text) if is_secret_name(each["name"]))]
    spans: list[tuple[int, int]] = []
    for start, end in sorted(candidates):
        inside = spans and start < spans[-1][1]
        if not inside and text[start:end] not in ("", MASK):
            spans.append((start, end))
    return spans
