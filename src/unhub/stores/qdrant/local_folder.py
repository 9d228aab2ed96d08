"""Checks of a folder of the client's local mode before the client opens it.

The client keeps each point as a pickle in SQLite and unpickles all of them, and a pickle can run any program. So every
row is read here first, with stand-ins for the two classes that the client itself writes. Links are refused too, since
the client writes through them. Whoever can change the folder between this check and the opening is not kept out.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.request import pathname2url

from unhub.foundation.errors import StoreError
from unhub.foundation.regular_files import read_regular

META, POINTS, OLD_POINTS = "meta.json", "storage.sqlite", "storage.dbm"
MODELS = "qdrant_client.http.models.models"
TABLE = "CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)"
LARGEST_META = 2**24  # bytes of the list of collections; one takes about a thousand
OTHER_JOURNAL = b"\xd9\xd5\x05\xf9 \xa1c\xd7"  # ends a journal of SQLite that names another file, to be removed


def check_folder(folder: str) -> None:
    """A ``StoreError`` if opening this folder could do anything but read points."""
    for name in (META, f"{META}.tmp", ".lock", "collection"):
        _check_file(os.path.join(folder, name))
    _check_meta(os.path.join(folder, META))
    for inside, folders, files in os.walk(os.path.join(folder, "collection")):
        for name in (*folders, *files):
            _check_file(os.path.join(inside, name))
        if POINTS in files:
            _check_points(os.path.join(inside, POINTS))
        elif any(name.startswith(OLD_POINTS) for name in files):
            raise StoreError(f"{inside} is of an old Qdrant client (before 1.1.7), which is not opened; make it again.")


def _check_file(path: str) -> None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise StoreError(f"{path} is a link, which no Qdrant client makes; it was not opened, remove the link.")
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise StoreError(f"{path} is a device or a pipe, which no Qdrant client makes; it was not opened.")


def _check_meta(path: str) -> None:
    """Checks the list of collections: none of them may be outside of the folder."""
    try:
        if os.path.getsize(path) > LARGEST_META:
            raise ValueError("it is too long")
        collections = json.loads(read_regular(path))["collections"]
        names = list(collections.keys())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path} is damaged; copy the folder again from where it was made.") from error
    for name in names:
        if os.path.isabs(name) or ".." in name.replace("\\", "/").split("/"):
            raise StoreError(
                f"{path} names the collection {name!r}, which is outside of the folder; it was not opened."
            )


def _check_points(path: str) -> None:
    try:
        for point in _points(path):
            if not isinstance(point, bytes):
                raise ValueError("a point is not a pickle")
            _Reader(io.BytesIO(point), path).load()
    except StoreError:
        raise
    except Exception as error:  # a damaged pickle can fail in any way
        why = " ".join(str(error).split())[:160]
        raise StoreError(
            f"{path} holds what no Qdrant client writes and was not opened; copy it again from where it was made "
            f"(reason: {why})."
        ) from error


def _points(path: str) -> Iterator[Any]:
    """The pickles, by the query that the client itself makes."""
    with closing(_opened(path)) as base:
        tables = base.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        if not tables:
            return
        if [(kind, name, " ".join(sql.split())) for kind, name, sql in tables] != [("table", "points", TABLE)]:
            raise ValueError("its tables are not those of a Qdrant client")
        for _, _, point in base.execute("SELECT rowid, id, point FROM points ORDER BY rowid DESC"):
            yield point


def _opened(path: str) -> sqlite3.Connection:
    """The points, read only; unless a kill left them half written, which SQLite then undoes first."""
    mode, journal = "ro", f"{path}-journal"
    if os.path.exists(journal):
        with open(journal, "rb") as file:
            file.seek(max(0, os.path.getsize(journal) - len(OTHER_JOURNAL)))
            if file.read() == OTHER_JOURNAL:
                raise ValueError("its journal names another file")
        mode = "rw"
    return sqlite3.connect(f"file:{pathname2url(path)}?mode={mode}", uri=True)


class _Plain:
    """A stand-in for a point: it takes a dictionary as its state, and cannot be called."""

    def __init__(self, *arguments: Any) -> None:
        raise ValueError("it calls a class that the client only fills")

    def __setstate__(self, state: dict[str, Any]) -> None:
        if type(state) is not dict:
            raise ValueError("a point is not a dictionary")


_KNOWN = {(MODELS, name): type(name, (_Plain,), {}) for name in ("PointStruct", "SparseVector")}


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, path: str) -> None:
        super().__init__(file)
        self._path = path

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) not in _KNOWN:
            raise StoreError(
                f"{self._path} asks for {module}.{name}, which is no point of a Qdrant client and was not run; do not "
                f"open this folder with other programs either."
            )
        return _KNOWN[module, name]
