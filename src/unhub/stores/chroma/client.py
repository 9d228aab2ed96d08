"""The client of a Chroma server or folder: opening one embeds, reports and changes nothing.

chroma://host:8000/photos             a server; token= in the address or CHROMA_TOKEN in the environment
chroma:///data/chroma/photos          a folder that this process opens itself
chroma://./chroma/photos              the same, relative to the current folder
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.optional import require
from unhub.stores.address import Address

TOKEN = "CHROMA_TOKEN"  # environment variable with a server's token, if the address has none
TIMEOUT = 120.0  # seconds that a server may take to answer: it builds its index while a batch is written
_OPENING = threading.Lock()


def _is_folder(address: Address) -> bool:
    return address.host in ("", ".", "..")


def checked(address: Address) -> Address:
    """The address with its token among the secrets; refuses an incomplete one."""
    before, name = address.parts
    folder = _is_folder(address)
    address.allow("tenant", "database", *(() if folder else ("ssl", "timeout")))
    if not name or not before or (not folder and address.path.strip("/") != name):
        raise InputError(
            f"{address}: give chroma://host:8000/collection for a server, or chroma:///folder/collection for a folder."
        )
    if address.user or address.password:
        raise InputError(f"{address}: Chroma takes no user and password; give token=... or set {TOKEN}.")
    address.switch("ssl")  # refuses what is neither true nor false
    if address.number("timeout", TIMEOUT) <= 0:
        raise InputError(f"{address}: timeout must be more than 0 seconds.")
    token = address.secret("token", "api_key") or os.environ.get(TOKEN)
    return replace(address, secrets={**address.secrets, "token": token}) if token else address


def no_store(address: Address) -> bool:
    """Whether the folder of the address has no database; opening it would make one."""
    return _is_folder(address) and not _database(address).is_file()


def _open_client(address: Address) -> Any:
    if not _is_folder(address):
        return _of_server(address)
    with _OPENING:  # Chroma's list of open folders is not thread-safe
        return _in_folder(address)


def _of_server(address: Address) -> Any:
    """A client of a server. Chroma's own waits for ever: it gets a timeout, and we send the first request."""
    chromadb, httpx = require("chromadb", extra="chroma"), require("httpx", extra="chroma")
    ssl = bool(address.switch("ssl"))
    port = address.port or (443 if ssl else 8000)
    timeout = address.number("timeout", TIMEOUT)
    token = address.secret("token")
    # Chroma Cloud reads the first header, servers behind a proxy the second.
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
    """A client that opens the folder; one that this process already has open is shared, as Chroma demands."""
    chromadb = require("chromadb", extra="chroma")
    where = _database(address).parent
    if no_store(address):
        raise StoreError(f"{address}: there is no Chroma database in {where}; give the folder of chroma.sqlite3.")
    folder, settings = str(where), _settings(migrations="validate")
    shared = require("chromadb.api.shared_system_client", extra="chroma").SharedSystemClient
    for running in list(getattr(shared, "_identifier_to_system", {}).values()):
        known = running.settings
        if known.is_persistent and Path(known.persist_directory).resolve() == where.resolve():
            folder, settings = known.persist_directory, known
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
    """Chroma's settings, but not from a file .env in the current folder, which anybody may have put there."""
    make = require("chromadb.config", extra="chroma").Settings
    return make(_env_file=None, anonymized_telemetry=False, **settings)


def _within(address: Address) -> dict[str, str]:
    return {name: address.value(name) or "" for name in ("tenant", "database") if name in address.options}


def _database(address: Address) -> Path:
    return Path(address.parts[0]) / "chroma.sqlite3"


class Connection:
    """One client for a collection and its siblings, opened when first needed and again after a close."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._client: Any = None
        self._lock = threading.Lock()  # several threads may ask first; only one opens

    @property
    def client(self) -> Any:
        """The client."""
        with self._lock:
            if self._client is None:
                self._client = _open_client(self.address)
            return self._client

    def close(self) -> None:
        """Closes the client."""
        with self._lock:
            client, self._client = self._client, None
            if client is not None:
                client.close()
