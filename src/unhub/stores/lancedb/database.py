"""A LanceDB database: a folder, or what LanceDB itself calls a uri; asked for its tables, never made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from unhub.foundation.errors import StoreError
from unhub.foundation.optional import require
from unhub.stores.adapter import guarded
from unhub.stores.address import Address

_SOURCE = re.compile(r",? \S+\.rs:\d+(:\d+)?|^lance error: (LanceError\(\w+\): )?")
"""where in LanceDB's own source code an error arose"""
_LISTED = 8


class Database:
    """The database of an address; connected to when it is first needed, and shared by its tables."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._uri = address.value("uri")
        self._folder = Path(address.parts[0] or ".")
        self._connection: Any = None

    def connected(self) -> Any:
        """LanceDB's connection. Each read sees the newest version, whoever wrote it."""
        if self._connection is None:
            if self._uri is None and not self._folder.is_dir():  # LanceDB would make it
                raise StoreError(
                    f"{self._address}: there is no folder {str(self._folder)!r}; see that the path is right."
                )
            self._connection = require("lancedb", extra="lancedb").connect(
                self._uri or str(self._folder),
                api_key=self._address.secret("api_key"),
                region=self._address.value("region") or "us-east-1",
                host_override=self._address.value("host"),
                read_consistency_interval=timedelta(0),
            )
        return self._connection

    def table(self, name: str) -> Any:
        """LanceDB's table of that name, or None."""
        if self._uri is None and not self._folder.is_dir():
            return None
        try:
            return self.connected().open_table(name)
        except ValueError as error:
            if "was not found" in str(error):
                return None
            raise

    def missing(self, name: str) -> StoreError:
        """What to say of a table that is not there."""
        there = sorted(self.connected().list_tables(limit=_LISTED).tables)
        damaged = " that can be read" if name in there else ""
        listed = f"there are {', '.join(there)}" if there else "there is none at all"
        return StoreError(f"{self._address}: there is no table {name!r}{damaged}; {listed}.")


def beside(address: Address, name: str) -> Address:
    """The address of another table of the database; what it ranks by it knows itself."""
    before, slash, _ = address.path.rstrip("/").rpartition("/")
    options = {key: value for key, value in address.options.items() if key != "metric"}
    if slash:
        return replace(address, path=f"{before}/{name}", options=options)
    return replace(address, host=name, path="", options=options)


@contextmanager
def said(address: Address, doing: str) -> Iterator[None]:
    """``guarded``, with the places in LanceDB's source code taken out of its messages."""
    with guarded(address, doing):
        try:
            yield
        except RuntimeError as error:
            raise RuntimeError(_SOURCE.sub("", str(error))) from error
