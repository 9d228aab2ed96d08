"""The ``.npy`` format: one array, memory-mapped."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from unhub.foundation.errors import InputError
from unhub.io.address import Address
from unhub.io.contents import WHOLE, Contents, Part
from unhub.io.damage import cut_short

_HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}

Header = tuple[tuple[int, ...], bool, np.dtype[Any]]  # shape, Fortran order, dtype


def read_npy(address: Address) -> Contents:
    """The array of the file; one of three dimensions is a stack of parts, ``file.npy::0`` being the first."""
    with open(address.path, "rb") as file:
        shape, fortran, dtype = read_header(file)
        offset = file.tell()
    if dtype.hasobject:
        raise pickled_objects(address)
    expected, found = offset + math.prod(shape) * dtype.itemsize, address.size
    if found < expected:
        raise cut_short(address, expected=expected, found=found)
    if found > expected:
        raise address.problem(
            f"has {found:,} bytes where its header promises {expected:,}; write it again with one numpy.save."
        )
    if 0 in shape:
        return Contents({WHOLE: Part(shape, dtype, partial(np.empty, shape, dtype))})
    array: np.ndarray[Any, Any] = np.memmap(
        address.path, dtype=dtype, mode="r", offset=offset, shape=shape, order="F" if fortran else "C"
    )
    if len(shape) == 3:
        return Contents({str(index): _part(array[index]) for index in range(shape[0])})
    return Contents({WHOLE: _part(array)})


def read_header(file: BinaryIO) -> Header:
    """What the header says of the array; the file is left at its first byte."""
    version = npy_format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"npy version {version} is not known")
    shape, fortran, dtype = _HEADERS[version](file)
    if any(length < 0 for length in shape):
        raise ValueError(f"the header has the shape {shape}")
    return shape, fortran, dtype


def pickled_objects(address: Address, what: str = "") -> InputError:
    """The error for an array of Python objects, which only pickle could read."""
    return address.problem(
        f"holds pickled Python objects{what}, which can run code when opened and are never read; "
        "save plain numbers, for instance numpy.save(path, numpy.asarray(rows, dtype='float32'))."
    )


def _part(array: np.ndarray[Any, Any]) -> Part:
    return Part(array.shape, array.dtype, lambda: array)
