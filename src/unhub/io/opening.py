"""``open_rows``: one way in for every matrix, whatever it is kept in."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from typing import Any

import numpy as np

from unhub.foundation.file_stamp import Stamp, stamp_of
from unhub.io.address import SEPARATOR, Address, find
from unhub.io.arrays import as_sliceable
from unhub.io.bfloat16 import BrainFloats
from unhub.io.contents import WHOLE, Contents, choose
from unhub.io.damage import guarded
from unhub.io.file_array import FileArray
from unhub.io.formats import read_contents
from unhub.io.id_values import id_strings
from unhub.io.ids import check_pairing, find_beside, read_ids
from unhub.io.numbers import check_matrix
from unhub.io.rows import Rows, with_ids


def open_rows(source: Any, *, name: str) -> Rows:
    """The matrix behind a path, an array, a memory map, a torch tensor, an open dataset or a list of lists.

    A path may name a part: ``file.npz::key``. Files are opened lazily where their format can (npy,
    safetensors, parquet, arrow, hdf5, zarr); npz, pt and mat are read whole. A file that is written to while it is
    in use is an error; so is a memory map's that was opened for reading only. Numbers keep their type, except
    that bfloat16 becomes float32. Ids come from the file (``ids``) or from beside it (``X.ids.txt``,
    ``.json``, ``.npy``). ``name`` is the argument's name, for the error sentences.

    >>> open_rows([[1.0, 0.0], [0.0, 1.0]], name="targets").shape
    (2, 2)
    """
    if isinstance(source, Rows):
        return replace(source, name=name)
    if isinstance(source, str | os.PathLike):
        return _open_file(find(source, name=name))
    data = as_sliceable(source, name=name)
    check_matrix(name, tuple(data.shape), data.dtype)
    return Rows(data, name=name)


def _open_file(address: Address) -> Rows:
    stamp = _stamp(address)
    contents, label = read_contents(address)
    candidates = contents.matrices()
    key = choose(address, contents, candidates=candidates, wanted="matrices of numbers")
    part = contents.parts[key]
    place = f"{address.path}{SEPARATOR}{key}" if key != WHOLE else str(address.path)
    with guarded(address, label):
        if part.dtype.hasobject:
            part.load()  # a reader that would have to unpickle says so itself
        check_matrix(f"{address.name}: {place}", part.shape, part.dtype)
        data = part.load()
        reads_later = not isinstance(data, np.ndarray | FileArray | BrainFloats)  # those two look for themselves
        rows = Rows(data, source=place, name=address.name, stamp=stamp if reads_later else None)
        rows[:1]  # a file that cannot give its first row is better refused now
    return _name_rows(address, contents, key, label, rows, alone=len(candidates) <= 1)


def _stamp(address: Address) -> Stamp | None:
    """How the file is now; None for a folder, whose own time says nothing about its files."""
    found = os.stat(address.path)
    return stamp_of(found) if stat.S_ISREG(found.st_mode) else None


def _name_rows(address: Address, contents: Contents, key: str, label: str, rows: Rows, *, alone: bool) -> Rows:
    """The rows with the ids found in the file, or else beside it.

    Where several matrices share a file, ids of another length belong to another one of them.
    """
    found = contents.ids_of(key)
    if found is not None:
        with guarded(address, label):
            place = f"{address.path}{SEPARATOR}{found}"
            ids = id_strings(contents.parts[found].load(), f"{address.name}: {place}")
        return _attach(rows, ids, place, strict=alone or found == f"{key}_ids")
    beside = find_beside(address)
    named = None if beside is None else read_ids(beside, name=address.name)
    check_pairing(address, rows, named)
    if named is not None:
        return _attach(rows, named, str(beside), strict=alone)
    if contents.probable_ids is None:
        return rows
    with guarded(address, label):
        values = contents.parts[contents.probable_ids].load()
    if None in values.tolist() or len(set(values.tolist())) != len(values):
        return rows  # a text column without a telling name and with repeats is no id
    return with_ids(rows, id_strings(values, address.name))


def _attach(rows: Rows, ids: tuple[str, ...], place: str, *, strict: bool) -> Rows:
    return with_ids(rows, ids, place=place) if strict or len(ids) == len(rows) else rows
