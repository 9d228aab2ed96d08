"""Vectors on their way into a faiss index: appended to two plain files, so that a kill loses at most the last block.

A block that was appended is on the disk: it is there after a power failure too.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.atomic import replace_file
from unhub.foundation.durable import names_to_disk
from unhub.foundation.errors import InputError
from unhub.foundation.json_files import read_json
from unhub.foundation.types import FloatArray, IntArray
from unhub.stores.faiss.index import Spec

SPEC, MADE_BY = "spec.json", "made_by"
LONGEST_SPEC = 1 << 20
"""bytes; ours have some hundred"""


class Spool:
    """A folder with ids, vectors and what index they are to become. Rows are whole or not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._trimmed = False

    def exists(self) -> bool:
        """Whether something has been begun."""
        return not self.folder.is_symlink() and (self.folder / SPEC).is_file()

    def create(self, spec: Spec, *, marked: bool) -> None:
        """Begins with an empty spool; ``marked``: of an index that unhub makes. Nothing that is there is removed."""
        if self.folder.is_symlink() or (self.folder.exists() and any(not _left(each) for each in _inside(self.folder))):
            raise InputError(f"the folder {self.folder} has other things in it; move them elsewhere.")
        self.folder.mkdir(parents=False, exist_ok=True)
        self._trimmed = False
        with replace_file(self.folder / SPEC) as temporary:
            temporary.write_text(json.dumps({**spec.plain(), MADE_BY: "unhub" if marked else None}))

    def spec(self) -> Spec:
        """The index to be made."""
        return Spec(**{name: value for name, value in self._read().items() if name != MADE_BY})

    @property
    def marked(self) -> bool:
        """Whether it is of an index that unhub makes."""
        return self._read().get(MADE_BY) == "unhub"

    def append(self, ids: IntArray, vectors: FloatArray) -> None:
        """Adds rows: the vectors first, so that an id never stands without its vector."""
        width = self.spec().dim
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        if rows.shape != (len(ids), width):
            raise ValueError(f"vectors of shape {rows.shape} came where ({len(ids)}, {width}) are wanted")
        self._trim(width)
        for name, data in (("vectors", rows), ("ids", np.ascontiguousarray(ids, dtype="<i8"))):
            with open(self.folder / name, "ab") as file:
                file.write(data.tobytes())
                file.flush()
                os.fsync(file.fileno())

    def ids(self) -> IntArray:
        """The ids whose vectors are there too."""
        count = self._count(self.spec().dim)
        if not count:
            return np.empty(0, dtype=np.int64)
        return np.fromfile(self.folder / "ids", dtype="<i8", count=count).astype(np.int64)

    def latest(self) -> tuple[IntArray, IntArray]:
        """The ids and the rows of their newest vectors, in the order they came in."""
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
        return np.memmap(self.folder / "vectors", dtype="<f4", mode="r", shape=(count, width))

    def drop(self) -> None:
        """Removes its files, the spec last, since that says what they are; and the folder, if nothing else is in it."""
        if self.folder.is_symlink() or not self.folder.is_dir():
            return
        ours = (["ids", "vectors"] if self.exists() else []) + [each for each in _inside(self.folder) if _left(each)]
        for name in (*ours, SPEC):
            (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _read(self) -> dict[str, Any]:
        try:
            read = read_json(self.folder / SPEC, longest=LONGEST_SPEC)
        except ValueError:
            read = None
        if not isinstance(read, dict):
            raise InputError(f"{self.folder / SPEC} is damaged; remove the folder {self.folder} and export again.")
        return read

    def _count(self, width: int) -> int:
        sizes = []
        for name, unit in (("ids", 8), ("vectors", 4 * width)):
            with suppress(FileNotFoundError):
                sizes.append((self.folder / name).stat().st_size // unit)
        return min(sizes) if len(sizes) == 2 else 0

    def _trim(self, width: int) -> None:
        """Cuts off what a kill has left half written."""
        if self._trimmed:
            return
        count = self._count(width)
        for name, unit in (("ids", 8), ("vectors", 4 * width)):
            with open(self.folder / name, "ab") as file:
                file.truncate(count * unit)
        names_to_disk(self.folder)
        self._trimmed = True


def _inside(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def _left(name: str) -> bool:
    """Whether this is what a kill leaves of a spec that was being written."""
    return name.startswith(".spec") and name.endswith(".json")
