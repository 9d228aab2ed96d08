"""One column of values, such as labels or the target of each query, from a file of arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray
from unhub.io.address import SEPARATOR, Address, find
from unhub.io.arrays import as_array
from unhub.io.contents import WHOLE, choose
from unhub.io.damage import guarded
from unhub.io.formats import read_contents
from unhub.io.ids import read_ids
from unhub.io.limits import check_loaded_whole

TEXTS = (".txt", ".csv", ".tsv", ".json")


def read_numbers(source: Any, *, name: str) -> AnyArray:
    """One column of numbers from a path (text with one in each line, ``file.npz::key``), an array or a list.

    >>> read_numbers([1, 2.5], name="query_weight").tolist()
    [1.0, 2.5]
    """
    if not isinstance(source, str | os.PathLike):
        return as_array(source, name=name)
    address = find(source, name=name)
    listed = address.path.suffix.lower() in TEXTS
    values = np.array(read_ids(source, name=name)) if listed else read_column(address)
    try:
        return values.astype(np.float64)
    except ValueError as error:
        raise InputError(f"{name}: {address.path} holds what is not a number ({error}); give numbers.") from None


def read_column(address: Address) -> AnyArray:
    """The array that was named, or the only column of the file, read whole."""
    contents, label = read_contents(address)
    columns = [key for key in contents.parts if contents.could_be_ids(key) and key not in contents.id_names]
    key = choose(address, contents, candidates=columns, wanted="columns of values")
    part = contents.parts[key]
    place = f"{address.path}{SEPARATOR}{key}" if key != WHOLE else str(address.path)
    if 0 in part.shape:
        raise InputError(f"{address.name}: {place} has shape {part.shape}: there are no values; give at least one.")
    with guarded(address, label):
        values = np.asarray(part.load()[:])
        if values.dtype == object:
            longest = max((len(str(each)) for each in values.ravel().tolist()), default=0)
            check_loaded_whole(address, key, 4 * longest * values.size)  # NumPy gives every text the longest's room
            values = values.astype(str)
    return values.ravel() if values.ndim == 2 and 1 in values.shape else values
