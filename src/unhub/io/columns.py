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


def read_values(source: Any, *, name: str) -> AnyArray:
    """One column of values from a path (``file.npz::key`` too), an array, a tensor or a list.

    >>> read_values([1, 2.5], name="query_weight").tolist()
    [1.0, 2.5]
    """
    if isinstance(source, str | os.PathLike):
        return read_column(find(source, name=name))
    return as_array(source, name=name)


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
            values = values.astype(str)
    return values.ravel() if values.ndim == 2 and 1 in values.shape else values
