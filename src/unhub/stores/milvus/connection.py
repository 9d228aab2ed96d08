"""A connection to a Milvus server or to a file of Milvus Lite, opened when first needed, and again after a close."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.optional import require
from unhub.stores.address import Address

PORT = 19530
TIMEOUT = 30.0  # seconds that one call may take, with the client's own retries
_QUIET: ContextVar[bool] = ContextVar("unhub_milvus_quiet", default=False)
_LOUD = (
    "pymilvus.decorators",
    "pymilvus.client.grpc_handler",
    "milvus_lite.server_manager",
)  # they log what they raise


def _loud(record: logging.LogRecord) -> bool:
    """Whether a logger may speak: not while a call of ours runs, whose errors become one sentence."""
    return not _QUIET.get()


class Connection:
    """The client that all collections of one opened address share."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.file = lite_file(address)
        self.timeout = address.number("timeout", TIMEOUT)
        self._lock = threading.Lock()
        self._client: Any = None
        self._replaces: bool | None = None

    @property
    def file_exists(self) -> bool:
        """Whether there can be anything at all: the client would make a missing file."""
        return self.file is None or os.path.exists(self.file)

    @property
    def client(self) -> Any:
        """The client, connected."""
        with self._lock:
            if self._client is None:
                for name in _LOUD:
                    logging.getLogger(name).addFilter(_loud)  # adding it again changes nothing
                self._client = self._server() if self.file is None else self._lite(self.file)
            return self._client

    @property
    def insert_replaces(self) -> bool:
        """Whether ``insert`` replaces an item of the same id: Milvus Lite does, a server would keep both."""
        if self._replaces is None:
            version = self.client.get_server_version(timeout=self.timeout)
            self._replaces = str(version).startswith("milvus_lite")
        return self._replaces

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Keeps the client from logging errors, which it raises as well."""
        before = _QUIET.set(True)
        try:
            yield
        finally:
            _QUIET.reset(before)

    def close(self) -> None:
        """Closes the connection, and the file if nobody else in this process has it open."""
        with self._lock:
            client, self._client, self._replaces = self._client, None, None
            if client is not None:
                client.close()
                if self.file is not None:
                    _release(self.file)

    def _server(self) -> Any:
        scheme = "https" if self.address.switch("tls") else "http"
        return require("pymilvus", extra="milvus").MilvusClient(
            f"{scheme}://{self.address.host}:{self.address.port or PORT}",
            token=self.address.secret("token") or "",
            db_name=self.address.value("database") or "",
            timeout=self.timeout,
            dedicated=True,
        )

    def _lite(self, file: str) -> Any:
        require("milvus_lite", extra="milvus")
        if not self.file_exists:
            raise StoreError(f"{self.address}: there is no file {file}; check the path.")
        pymilvus = require("pymilvus", extra="milvus")
        try:
            return pymilvus.MilvusClient(
                file,
                db_name=self.address.value("database") or "",
                timeout=self.timeout,
                dedicated=True,
                # The server in this process hangs up on a client that asks whether it still lives.
                grpc_options={"grpc.keepalive_time_ms": 2**31 - 1},
            )
        except pymilvus.exceptions.ConnectionConfigException:
            raise StoreError(
                f"{self.address} cannot be opened; close it in the other process that has it open, "
                "or write it again if an older milvus-lite wrote it."
            ) from None


def lite_file(address: Address) -> str | None:
    """The file of Milvus Lite in an address, or None for a server."""
    before, name = address.parts
    if address.port is None and before.endswith(".db") and name:
        return before
    if address.host in ("", ".", ".."):
        raise InputError(
            f"{address}: give a file that ends in .db and a name in it, such as milvus:///data/file.db/photos."
        )
    if not name or "/" in address.path.strip("/") or not address.path.strip("/"):
        raise InputError(f"{address}: give the name of one collection, such as milvus://{address.host}:{PORT}/photos.")
    return None


def with_token(address: Address) -> Address:
    """The address with its token among the secrets, wherever it came from: no message may show it."""
    token = address.secret("token", "api_key", "key")
    if token is None and address.user and address.password is not None:
        token = f"{address.user}:{address.password}"
    token = token or os.environ.get("MILVUS_TOKEN", "")
    return replace(address, secrets={**address.secrets, "token": token}) if token else address


def _release(file: str) -> None:
    """Ends the server that the client runs in this process for a file, unless another client uses it."""
    with suppress(ImportError, AttributeError, KeyError):  # in case a later client does this itself
        servers = require("milvus_lite.server_manager", extra="milvus").server_manager_instance
        clients = require("pymilvus.client.connection_manager", extra="milvus").ConnectionManager.get_instance()
        where = str(servers.start_and_get_uri(file)).rpartition("/")[2]
        open_now = [each for each in clients.get_stats()["connections"] if each["address"] == where]
        if not any(each["client_count"] for each in open_now):
            servers.release_server(file)
