"""Vectors on their way into a faiss index: appended to two plain files, so that a kill loses at most the last block.

An appended block is synced to the disk and survives a power failure. The folder may come from somebody else together
with the index, so only regular files with one name are opened in it: a link would lead elsewhere.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unhub.foundation.atomic import replace_file, sync_folder
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.stores.faiss.index import Spec

SPEC, MADE_BY = "spec.json", "made_by"
LONGEST = 2**24  # bytes of a spec; the ranges of a scalar quantiser take about 40 for each dimension
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT


class Spool:
    """A folder with ids, vectors and the spec of their index. Rows are complete or absent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._trimmed = False

    def exists(self) -> bool:
        """Whether a spool has been begun."""
        return not self.folder.is_symlink() and os.path.lexists(self.folder / SPEC)

    def create(self, spec: Spec, *, marked: bool) -> None:
        """Begins an empty spool; ``marked``: for an index that unhub makes. Other files are never removed."""
        if self.folder.is_symlink() or (
            self.folder.exists() and any(not _is_leftover(each) for each in _inside(self.folder))
        ):
            raise InputError(f"the folder {self.folder} has other things in it; move them elsewhere.")
        self.folder.mkdir(parents=False, exist_ok=True)
        self._trimmed = False
        with replace_file(self.folder / SPEC, follow_links=False) as temporary:
            temporary.write_text(json.dumps({**spec.to_dict(), MADE_BY: "unhub" if marked else None}))

    def spec(self) -> Spec:
        """The index to be made."""
        return self._read()[0]

    @property
    def marked(self) -> bool:
        """Whether it is for an index that unhub makes."""
        return bool(self._read()[1] == "unhub")

    def append(self, ids: IntArray, vectors: FloatArray) -> None:
        """Adds rows: the vectors first, so that no id lacks its vector."""
        width = self.spec().dim
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        if rows.shape != (len(ids), width):
            raise ValueError(f"vectors have shape {rows.shape}, not ({len(ids)}, {width})")
        self._trim(width)
        for name, data in (("vectors", rows), ("ids", np.ascontiguousarray(ids, dtype="<i8"))):
            with self._open(name, _APPEND) as file:
                file.write(data.tobytes())
                file.flush()
                os.fsync(file.fileno())

    def ids(self) -> IntArray:
        """The ids that have a vector."""
        count = self._count(self.spec().dim)
        if not count:
            return np.empty(0, dtype=np.int64)
        with self._open("ids") as file:
            return np.fromfile(file, dtype="<i8", count=count).astype(np.int64)

    def latest(self) -> tuple[IntArray, IntArray]:
        """The ids and the rows of their newest vectors, in the order of writing."""
        ids = self.ids()
        _, last = np.unique(ids[::-1], return_index=True)
        rows = np.sort(len(ids) - 1 - last)
        return ids[rows], rows

    def vectors(self) -> FloatArray:
        """All vectors, mapped from the disk."""
        width = self.spec().dim
        count = self._count(width)
        if not count:
            return np.empty((0, width), dtype=np.float32)
        with self._open("vectors") as file:
            return np.memmap(file, dtype="<f4", mode="r", shape=(count, width))

    def drop(self) -> None:
        """Removes its files, the spec last since it says what they are; and the folder, if nothing else is in it."""
        if self.folder.is_symlink() or not self.folder.is_dir():
            return
        ours = (["ids", "vectors"] if self.exists() else []) + [
            each for each in _inside(self.folder) if _is_leftover(each)
        ]
        for name in (*ours, SPEC):
            (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _open(self, name: str, flags: int = os.O_RDONLY) -> BinaryIO:
        """A file of the spool; a link, a pipe or a folder is refused."""
        path = self.folder / name
        if self.folder.is_symlink() or (os.path.lexists(path) and not _is_plain(os.lstat(path))):
            raise self._not_ours(name)
        handle = os.open(path, flags | _SAFE, 0o666)
        try:
            if not _is_plain(os.fstat(handle)):
                raise self._not_ours(name)
            return os.fdopen(handle, "rb" if flags == os.O_RDONLY else "ab")
        except BaseException:
            os.close(handle)
            raise

    def _not_ours(self, name: str) -> InputError:
        return InputError(
            f"{self.folder / name} is a link, a pipe or a folder and not part of an export; see where it comes from "
            f"and remove {self.folder}."
        )

    def _read(self) -> tuple[Spec, Any]:
        """The index to be made, and who began it."""
        try:
            with self._open(SPEC) as file:
                fields = json.loads(file.read(LONGEST))
            made_by = fields.pop(MADE_BY, None)
            return Spec.from_dict(fields), made_by
        except InputError:
            raise
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{self.folder / SPEC} is damaged; remove {self.folder} and export again.") from error

    def _count(self, width: int) -> int:
        sizes = []
        for name, unit in (("ids", 8), ("vectors", 4 * width)):
            with suppress(FileNotFoundError), self._open(name) as file:
                sizes.append(os.fstat(file.fileno()).st_size // unit)
        return min(sizes) if len(sizes) == 2 else 0

    def _trim(self, width: int) -> None:
        """Cuts off what a kill left half written."""
        if self._trimmed:
            return
        count = self._count(width)
        for name, unit in (("ids", 8), ("vectors", 4 * width)):
            with self._open(name, _APPEND) as file:
                file.truncate(count * unit)
        sync_folder(self.folder)
        self._trimmed = True


def _is_plain(facts: os.stat_result) -> bool:
    """Whether this is a regular file with no other name, through which more than the spool would change."""
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1


def _inside(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def _is_leftover(name: str) -> bool:
    """Whether a kill left this of a spec that was being written."""
    return name.startswith(".spec") and name.endswith(".json")
