"""Vectors on their way into a faiss index: appended to two plain files, so that a kill loses at most the last block."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from unhub.foundation.atomic import replace_file
from unhub.foundation.types import FloatArray, IntArray
from unhub.stores.faiss.index import Spec


class Spool:
    """A folder with ids, vectors and what index they are to become. Rows are whole or not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._trimmed = False

    def exists(self) -> bool:
        """Whether something has been begun."""
        return (self.folder / "spec.json").exists()

    def create(self, spec: Spec) -> None:
        """Begins with an empty spool."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=False)
        for name in ("ids", "vectors"):
            (self.folder / name).touch()
        with replace_file(self.folder / "spec.json") as temporary:
            temporary.write_text(json.dumps(spec.plain()))

    def spec(self) -> Spec:
        """The index to be made."""
        return Spec(**json.loads((self.folder / "spec.json").read_text()))

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

    def ids(self) -> IntArray:
        """The ids whose vectors are there too."""
        return np.fromfile(self.folder / "ids", dtype="<i8", count=self._count(self.spec().dim)).astype(np.int64)

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
        """Removes the folder: its spec first, since without one there is no spool."""
        (self.folder / "spec.json").unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _count(self, width: int) -> int:
        sizes = ((self.folder / name).stat().st_size // unit for name, unit in (("ids", 8), ("vectors", 4 * width)))
        return min(sizes)

    def _trim(self, width: int) -> None:
        """Cuts off what a kill has left half written."""
        if self._trimmed:
            return
        count = self._count(width)
        for name, unit in (("ids", 8), ("vectors", 4 * width)):
            with open(self.folder / name, "r+b") as file:
                file.truncate(count * unit)
        self._trimmed = True
