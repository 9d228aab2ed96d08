"""The ``.npy`` format: one array, read in blocks."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from unhub.foundation.errors import InputError
from unhub.io.address import Address
from unhub.io.contents import WHOLE, Contents, Part
from unhub.io.damage import cut_short
from unhub.io.file_array import FileArray, OpenFile
from unhub.io.limits import check_promise

_HEADERS = {
    (1, 0): (npy_format.read_array_header_1_0, 2),
    (2, 0): (npy_format.read_array_header_2_0, 4),
}
"""by version: NumPy's reader of the header, and the bytes of its length"""

_LONGEST_HEADER = 10_000  # as NumPy has it; a longer one could hold anything

Header = tuple[tuple[int, ...], bool, np.dtype[Any]]  # shape, Fortran order, dtype


@dataclass(frozen=True)
class StoredArray:
    """What the header of a file says of its array; the numbers are read from the same open file."""

    file: OpenFile
    offset: int
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @property
    def array(self) -> FileArray:
        """The numbers, left in the file; an error if there are more or fewer bytes than the header promises."""
        address, found = self.file.address, self.file.stamp.size
        expected = self.offset + math.prod(self.shape) * self.dtype.itemsize
        if found < expected:
            raise cut_short(address, expected=expected, found=found)
        if found > expected:
            raise address.problem(
                f"has {found:,} bytes where its header promises {expected:,}; write it again with one numpy.save."
            )
        return FileArray(self.file, self.offset, self.shape, self.dtype, fortran=self.fortran)


def open_npy(address: Address) -> StoredArray:
    """The file, open, with its header read."""
    opened = OpenFile(address)
    with opened.from_start() as file:
        shape, fortran, dtype = read_header(file)
        return StoredArray(opened, file.tell(), shape, fortran, dtype)


def read_npy(address: Address) -> Contents:
    """The array of the file; one of three dimensions is a stack of parts, ``file.npy::0`` being the first."""
    return npy_contents(open_npy(address))


def npy_contents(stored: StoredArray) -> Contents:
    """The array of an open file, or the parts of a stack."""
    address, shape, dtype = stored.file.address, stored.shape, stored.dtype
    if dtype.hasobject:
        raise pickled_objects(address)
    array = stored.array
    if 0 in shape:
        return Contents({WHOLE: Part(shape, dtype, partial(np.empty, shape, dtype))})
    if len(shape) == 3 and stored.fortran:  # its parts are not in one piece
        check_promise(address, array.nbytes)
        whole = array.keep()
        return Contents({str(index): _part(whole[index]) for index in range(shape[0])})
    if len(shape) == 3:
        return Contents({str(index): _part(array.part(index)) for index in range(shape[0])})
    return Contents({WHOLE: _part(array)})


def read_header(file: BinaryIO) -> Header:
    """What the header says of the array; the file is left at its first byte."""
    version = npy_format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"npy version {version} is not known")
    read, size = _HEADERS[version]
    length = file.read(size)
    if int.from_bytes(length, "little") > _LONGEST_HEADER:  # NumPy would read it first and refuse it then
        raise ValueError(f"its header is longer than {_LONGEST_HEADER:,} bytes")
    shape, fortran, dtype = read(io.BytesIO(length + file.read(int.from_bytes(length, "little"))))
    if any(length < 0 for length in shape):
        raise ValueError(f"the header has the shape {shape}")
    return shape, fortran, dtype


def pickled_objects(address: Address, what: str = "") -> InputError:
    """The error for an array of Python objects, which only pickle could read."""
    return address.problem(
        f"holds pickled Python objects{what}, which can run code when opened and are never read; "
        "save plain numbers, for instance numpy.save(path, numpy.asarray(rows, dtype='float32'))."
    )


def _part(array: FileArray | np.ndarray[Any, Any]) -> Part:
    return Part(array.shape, array.dtype, lambda: array)
