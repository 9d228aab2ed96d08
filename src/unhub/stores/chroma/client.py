"""How a Chroma server or folder is reached: nothing is embedded, reported or changed on the way.

chroma://host:8000/photos             a server; token= in the address or CHROMA_TOKEN in the environment
chroma:///data/chroma/photos          a folder, opened by this process itself
chroma://./chroma/photos              the same, from the folder we are in
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.optional import require
from unhub.stores.adapter import guarded
from unhub.stores.address import Address
from unhub.stores.protocol import BLOCK

P = ParamSpec("P")
T = TypeVar("T")
TOKEN = "CHROMA_TOKEN"
"""the variable of the environment that a server's token is taken from if the address has none"""
TIMEOUT = 120.0
"""seconds that a server may take to answer: it builds its index while a batch is written"""
_FOLDERS = ("", ".", "..")
_OPENING = threading.Lock()
_SWITCH = {"true": True, "1": True, "false": False, "0": False}


def in_folder(address: Address) -> bool:
    """Whether the address is of a folder that this process opens itself, and not of a server."""
    return address.host in _FOLDERS


def checked(address: Address) -> Address:
    """The address with its secrets in one place; refuses one that cannot be meant."""
    before, name = address.parts
    if in_folder(address):
        address.allow("tenant", "database")
    else:
        address.allow("tenant", "database", "ssl", "timeout")
    if not name or not before or (not in_folder(address) and address.path.strip("/") != name):
        raise InputError(
            f"{address}: give chroma://host:8000/collection for a server, or chroma:///folder/collection for a folder."
        )
    if address.user or address.password:
        raise InputError(f"{address}: Chroma takes no user and password; give token=... or set {TOKEN}.")
    _ssl(address)
    if address.number("timeout", TIMEOUT) <= 0:
        raise InputError(f"{address}: timeout must be more than 0 seconds.")
    token = address.secret("token", "api_key") or os.environ.get(TOKEN)
    return replace(address, secrets={**address.secrets, "token": token}) if token else address


def open_client(address: Address) -> Any:
    """The client of the store that the address says; of folders one at a time: Chroma's list of them is not safe."""
    if not in_folder(address):
        return _of_server(address)
    with _OPENING:
        return _in_folder(address)


def no_store(address: Address) -> bool:
    """Whether there is no store at all: opening a folder would make one."""
    return in_folder(address) and not _database(address).is_file()


def _of_server(address: Address) -> Any:
    """A client of a server. Chroma's own waits for ever, so it is given a timeout, and the first word is ours."""
    chromadb, httpx = require("chromadb", extra="chroma"), require("httpx", extra="chroma")
    ssl = _ssl(address)
    port = address.port or (443 if ssl else 8000)
    timeout = address.number("timeout", TIMEOUT)
    token = address.secret("token")
    # Chroma Cloud looks at the first header, servers behind a proxy at the second.
    headers = {"X-Chroma-Token": token, "Authorization": f"Bearer {token}"} if token else {}
    beat = f"{'https' if ssl else 'http'}://{address.host}:{port}/api/v2/heartbeat"
    httpx.get(beat, headers=headers, timeout=timeout).raise_for_status()
    settings = _settings(chroma_server_host=address.host, chroma_server_http_port=port)
    client: Any = chromadb.HttpClient(
        host=address.host, port=port, ssl=ssl, headers=headers, settings=settings, **_within(address)
    )
    client._server._session.timeout = timeout
    return client


def _in_folder(address: Address) -> Any:
    """A client that opens the folder; one that this process has open already is shared, as Chroma demands."""
    chromadb = require("chromadb", extra="chroma")
    database = _database(address)
    if no_store(address):
        raise StoreError(
            f"{address}: there is no Chroma database in {database.parent}; give the folder of chroma.sqlite3."
        )
    folder = str(database.parent)
    settings = _settings(migrations="validate")
    for system in _running():
        if (
            system.settings.is_persistent
            and Path(system.settings.persist_directory).resolve() == database.parent.resolve()
        ):
            folder, settings = system.settings.persist_directory, system.settings
    try:
        client: Any = chromadb.PersistentClient(path=folder, settings=settings, **_within(address))
    except chromadb.errors.InternalError as error:
        if "migration" not in str(error).casefold():
            raise
        raise StoreError(
            f"{address} was written by an older Chroma, and opening it would change it; open it once with "
            f"chromadb.PersistentClient({folder!r}), which brings it up to date."
        ) from error
    return client


def _settings(**settings: Any) -> Any:
    """Chroma's settings; not from a file .env in the folder we are in, which may be anybody's and name other hosts."""
    made = require("chromadb.config", extra="chroma").Settings
    return made(_env_file=None, anonymized_telemetry=False, **settings)


def _running() -> list[Any]:
    shared = require("chromadb.api.shared_system_client", extra="chroma").SharedSystemClient
    return list(getattr(shared, "_identifier_to_system", {}).values())


def _within(address: Address) -> dict[str, str]:
    return {name: address.value(name) or "" for name in ("tenant", "database") if name in address.options}


def _database(address: Address) -> Path:
    return Path(address.parts[0]) / "chroma.sqlite3"


def _ssl(address: Address) -> bool:
    text = address.options.get("ssl", "false")
    if text.casefold() not in _SWITCH:
        raise InputError(f"{address}: ssl is {text!r}; give true or false.")
    return _SWITCH[text.casefold()]


@dataclass
class Connection:
    """One client for a collection and those beside it, opened when it is first needed and again after a close."""

    address: Address
    opened: Any = field(default=None, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    """several threads may ask first, and only one opens"""

    def client(self) -> Any:
        """The client."""
        with self.lock:
            if self.opened is None:
                self.opened = open_client(self.address)
            return self.opened

    def close(self) -> None:
        """Lets go of the client."""
        with self.lock:
            if self.opened is not None:
                self.opened.close()
            self.opened = None


@dataclass
class Handle:
    """One collection, through a client that others may share."""

    address: Address
    connection: Connection
    known: Any = field(default=None, repr=False, compare=False)
    through: Any = field(default=None, repr=False, compare=False)
    """the client that knows it: after a close there is another"""

    def beside(self, name: str) -> Handle:
        """That of another name in the same database."""
        folder = self.address.path.rstrip("/").rpartition("/")[0]
        return Handle(replace(self.address, path=f"{folder}/{name}"), self.connection)

    def ask(self, doing: str, act: Callable[Concatenate[Any, P], T], *rest: P.args, **named: P.kwargs) -> T:
        """What ``act`` gives of the client's object; ``doing`` is for the sentence if it fails."""
        with guarded(self.address, doing):
            known = self.known
            if known is not None and self.through is self.connection.opened:
                try:
                    return act(known, *rest, **named)
                except _not_found():
                    self.known = None
            return act(self._look_up(), *rest, **named)

    def ask_client(self, doing: str, act: Callable[Concatenate[Any, P], T], *rest: P.args, **named: P.kwargs) -> T:
        """What ``act`` gives of the client itself."""
        with guarded(self.address, doing):
            return act(self.connection.client(), *rest, **named)

    def exists(self) -> bool:
        """Whether the collection is there."""
        if no_store(self.address):
            return False
        with guarded(self.address, "cannot be looked up"):
            try:
                self._look_up()
            except _not_found():
                self.known = None
                return False
            return True

    def batch(self) -> int:
        """How many items the store takes at once."""
        most = self.ask_client("cannot be reached", lambda client: int(client.get_max_batch_size()))
        return most if most > 0 else BLOCK

    def forget(self) -> None:
        """Looks the collection up again at the next question."""
        self.known = None

    def _look_up(self) -> Any:
        # Without an embedding function Chroma loads no model, whatever the collection was made with.
        through = self.connection.client()
        known = through.get_collection(self.address.parts[1], embedding_function=None)
        self.known, self.through = known, through
        return known


def _not_found() -> Any:
    return require("chromadb.errors", extra="chroma").NotFoundError
