"""Secrets inside a text that is itself a URL or a list of settings: ``s3://KEY:SECRET@bucket?session_token=...``.

They are looked for in the text as it stands and, level by level, in what its percent signs stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

MASK = "***"
SHORTEST = 3
"""letters of a part of a secret that is worth hiding: a shorter one stands in every other word"""
_SECRET = re.compile(r"pass|pwd|key|token|secret|credential|auth|signature|^sig$", re.IGNORECASE)
_SETTING = re.compile(r"""(?<![\w.-])(?P<name>[\w.-]+)["']?\s*[=:](?!//)\s*["']?(?=(?P<value>[^&;,\s"'}]+))""")
"""a name and its value, as in a query, in JSON or in a list"""


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name is taken for a secret.

    >>> [is_secret_name(name) for name in ("api_key", "PGPASSWORD", "sig", "table")]
    [True, True, True, False]
    """
    return _SECRET.search(name) is not None


def masked(text: str) -> str:
    """The text with what is secret in it replaced; as it is if there is nothing.

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
    """Where secrets stand: user and password, up to the last @ since a key may hold any sign; and settings."""
    first, last = text.find("//"), text.rfind("@")
    begin = first + 2 if 0 <= first < last else 0
    user = (begin, last) if last > begin and (begin or ":" in text[:last]) else (0, 0)
    found = [user, *(each.span("value") for each in _SETTING.finditer(text) if is_secret_name(each["name"]))]
    spans: list[tuple[int, int]] = []
    for start, end in sorted(found):
        inside = spans and start < spans[-1][1]
        if not inside and text[start:end] not in ("", MASK):
            spans.append((start, end))
    return spans
