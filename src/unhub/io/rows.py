"""``open_rows``: one way in for every matrix; ``Rows``: a matrix with one row per item, and their ids."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import Stamp, stamp_at, stamp_of
from unhub.foundation.safe_text import short_repr
from unhub.foundation.types import AnyArray, Sliceable
from unhub.foundation.wording import argument, counted, there_are
from unhub.io.address import SEPARATOR, WHOLE, Address, Contents, check_matrix, choose, find, numpy_floats
from unhub.io.arrays import as_sliceable
from unhub.io.file_array import BrainFloats, FileArray
from unhub.io.formats import read_contents
from unhub.io.ids import Ids, check_pairing, find_beside, id_strings, read_ids

_SHOWN = 3  # duplicated ids named in an error


@dataclass(frozen=True, eq=False)
class Rows:
    """A matrix (rows, columns) that is read block by block: ``rows[a:b]`` is always a NumPy array.

    ``data`` is what is sliced, ``ids`` names the rows (`Ids` where they were read, which know whether they were whole
    numbers), ``source`` is the absolute ``path::key`` of a file or the address of a store (None for an array), ``name``
    is the argument that it was given for, used in errors.

    >>> rows = Rows(np.eye(3), ids=("a", "b", "c"))
    >>> len(rows), rows.shape, rows[1:2].tolist()
    (3, (3, 3), [[0.0, 1.0, 0.0]])
    """

    data: Sliceable
    ids: tuple[str, ...] | None = None
    source: str | None = None
    name: str = "rows"
    stamp: Stamp | None = None
    """of a file that its reader keeps open, at the time it was opened; compared after every block"""

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
        address = self._address
        with nullcontext() if address is None else address.reading("a matrix"):
            block = numpy_floats(np.asarray(self.data[start : max(start, stop)]))
            if block.shape != (max(0, stop - start), self.shape[1]):
                raise ValueError(f"a block of rows came with shape {block.shape}")
            self._refuse_change()
        return block

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
            raise self._address.changed()


def with_ids(rows: Rows, ids: Iterable[str], *, place: str | None = None) -> Rows:
    """The same rows with these ids: as many as there are rows, and all different.

    ``place`` says in an error where the ids came from.

    >>> with_ids(Rows(np.eye(2)), ["a", "b"]).ids
    ('a', 'b')
    """
    named, origin = ids if isinstance(ids, Ids) else Ids(ids), f" in {place}" if place else ""
    if len(named) != len(rows):
        raise InputError(
            rows.name,
            f"has {counted(len(rows), 'row')} but {there_are(len(named), 'id')}{origin}",
            "give one id for each row",
        )
    if len(set(named)) != len(named):
        raise InputError(rows.name, f"has ids that are not unique{origin}: {_repeated(named)}", "make them so")
    return replace(rows, ids=named)


def _repeated(ids: tuple[str, ...]) -> str:
    places: dict[str, list[int]] = {}
    for row, item in enumerate(ids):
        places.setdefault(item, []).append(row)
    repeated = {item: where for item, where in places.items() if len(where) > 1}
    named = []
    for item, rows in list(repeated.items())[:_SHOWN]:
        listed = ", ".join(map(str, rows[:_SHOWN])) + (", ..." if len(rows) > _SHOWN else "")
        named.append(f"{short_repr(item)} in rows {listed}")
    more = f" and {len(repeated) - _SHOWN} more" if len(repeated) > _SHOWN else ""
    return f"{', '.join(named)}{more} (rows count from 0)"


def open_rows(source: Any, *, name: str) -> Rows:
    """The matrix behind a path, an array, a memory map, a torch tensor, an open dataset or a list of lists.

    A path may name a part: ``file.npz::key``. Files are opened lazily where their format can (npy, safetensors,
    parquet, arrow, hdf5, zarr); npz, pt and mat are read whole. A file that is written to while it is in use is an
    error, also behind a read-only memory map. Numbers keep their type, except that bfloat16 becomes float32. Ids come
    from the file (``ids``) or from a file next to it (``X.ids.txt``, ``.json``, ``.npy``).

    source: the path, array or list.
    name: the argument's name, for errors.

    >>> open_rows([[1.0, 0.0], [0.0, 1.0]], name="targets").shape
    (2, 2)
    """
    if isinstance(source, Rows):
        return replace(source, name=name)
    if isinstance(source, str | os.PathLike):
        return _open_file(find(source, name=name))
    data = as_sliceable(source, name=name)
    check_matrix(argument(name), tuple(data.shape), data.dtype)
    return Rows(data, name=name)


def _open_file(address: Address) -> Rows:
    facts = os.stat(address.path)
    stamp = stamp_of(facts) if stat.S_ISREG(facts.st_mode) else None  # a folder's time says nothing about its files
    contents, label = read_contents(address)
    candidates = contents.matrices()
    key = choose(address, contents, candidates=candidates, wanted="matrices of numbers")
    part = contents.parts[key]
    place = f"{address.path}{SEPARATOR}{key}" if key != WHOLE else str(address.path)
    with address.reading(label):
        if part.dtype.hasobject:
            part.load()  # a reader that would have to unpickle raises its own error
        check_matrix(address.subject(key), part.shape, part.dtype)
        data = part.load()
        reads_later = not isinstance(data, np.ndarray | FileArray | BrainFloats)  # those two check for themselves
        rows = Rows(data, source=place, name=address.name, stamp=stamp if reads_later else None)
        rows[:1]  # a file that cannot give its first row is better refused now
    return _name_rows(address, contents, key, label, rows, alone=len(candidates) <= 1)


def _name_rows(address: Address, contents: Contents, key: str, label: str, rows: Rows, *, alone: bool) -> Rows:
    """The rows with the ids in the file, or else next to it.

    Where several matrices share a file, ids of another length belong to another one of them.
    """
    ids_key = contents.ids_of(key)
    if ids_key is not None:
        with address.reading(label):
            ids = id_strings(contents.parts[ids_key].load(), address.subject(ids_key))
        return _attach(rows, ids, f"{address.path}{SEPARATOR}{ids_key}", strict=alone or ids_key == f"{key}_ids")
    beside = find_beside(address)
    named = None if beside is None else read_ids(beside, name=address.name)
    check_pairing(address, rows, named)
    if named is not None:
        return _attach(rows, named, str(beside), strict=alone)
    if contents.probable_ids is None:
        return rows
    with address.reading(label):
        values = contents.parts[contents.probable_ids].load()
    if None in values.tolist() or len(set(values.tolist())) != len(values):
        return rows  # a text column with repeats holds no ids
    return with_ids(rows, id_strings(values, argument(address.name)))


def _attach(rows: Rows, ids: tuple[str, ...], place: str, *, strict: bool) -> Rows:
    return with_ids(rows, ids, place=place) if strict or len(ids) == len(rows) else rows
