"""A matrix with one row per item, in memory or on disk, and the ids of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.file_stamp import Stamp, stamp_at
from unhub.foundation.shown import shown
from unhub.foundation.types import AnyArray, Sliceable
from unhub.io.address import SEPARATOR, Address
from unhub.io.damage import guarded
from unhub.io.file_array import changed
from unhub.io.numbers import numpy_floats

_SHOWN = 3  # duplicated ids named in an error


@dataclass(frozen=True, eq=False)
class Rows:
    """A matrix (rows, columns) that is read block by block: ``rows[a:b]`` is always a NumPy array.

    ``data`` is what is sliced, ``ids`` names the rows, ``source`` is the absolute ``path::key`` of a file
    or the address of a store (None for an array), ``name`` is the argument it came in by, for error sentences.

    >>> rows = Rows(np.eye(3), ids=("a", "b", "c"))
    >>> len(rows), rows.shape, rows[1:2].tolist()
    (3, (3, 3), [[0.0, 1.0, 0.0]])
    """

    data: Sliceable
    ids: tuple[str, ...] | None = None
    source: str | None = None
    name: str = "rows"
    stamp: Stamp | None = None
    """of a file that its reader keeps open: how it was when it was opened, compared after every block"""

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        rows, columns = self.data.shape
        return int(rows), int(columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers that a block comes in."""
        return self[:0].dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> AnyArray:
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise TypeError(f"{self.name} gives blocks of rows: {self.name}[start:stop], not {rows!r}")
        start, stop, _ = rows.indices(len(self))
        with self._guard():
            block = numpy_floats(np.asarray(self.data[start : max(start, stop)]))
            if block.shape != (max(0, stop - start), self.shape[1]):
                raise ValueError(f"a block of rows came with shape {block.shape}")
            self._refuse_change()
        return block

    def _guard(self) -> Any:
        return nullcontext() if self._address is None else guarded(self._address, "a matrix")

    @property
    def _address(self) -> Address | None:
        if self.source is None or "://" in self.source:  # a store's vectors have been read already
            return None
        return Address(self.name, Path(self.source.partition(SEPARATOR)[0]))

    def _refuse_change(self) -> None:
        """An error if the file was written to. One that was replaced or removed is still open as it was."""
        if self.stamp is None or self._address is None:
            return
        try:
            now = stamp_at(self._address.path)
        except OSError:
            return
        if now.file == self.stamp.file and now != self.stamp:
            raise changed(self._address)


def with_ids(rows: Rows, ids: Iterable[str], *, place: str | None = None) -> Rows:
    """The same rows with these ids: as many as there are rows, and all different.

    ``place`` says in an error where the ids came from.

    >>> with_ids(Rows(np.eye(2)), ["a", "b"]).ids
    ('a', 'b')
    """
    named, origin = tuple(ids), f" in {place}" if place else ""
    if len(named) != len(rows):
        raise InputError(
            f"{rows.name} has {len(rows):,} rows but there are {len(named):,} ids{origin}; give one id for each row."
        )
    if len(set(named)) != len(named):
        raise InputError(_repeated(rows.name, named, origin))
    return replace(rows, ids=named)


def _repeated(name: str, ids: tuple[str, ...], origin: str) -> str:
    places: dict[str, list[int]] = {}
    for row, item in enumerate(ids):
        places.setdefault(item, []).append(row)
    repeated = {item: where for item, where in places.items() if len(where) > 1}
    named = [f"{shown(item)} in rows {_some(where)}" for item, where in list(repeated.items())[:_SHOWN]]
    more = f" and {len(repeated) - _SHOWN} more" if len(repeated) > _SHOWN else ""
    listed = ", ".join(named) + more
    return f"{name} has ids that are not unique{origin}: {listed} (rows count from 0); make them so."


def _some(rows: list[int]) -> str:
    shown = ", ".join(map(str, rows[:_SHOWN]))
    return f"{shown}, ..." if len(rows) > _SHOWN else shown
