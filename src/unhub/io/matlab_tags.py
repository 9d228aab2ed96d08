"""A look at the tags of a MATLAB 5 file before SciPy sees it: SciPy follows a damaged tag out of bounds.

A file is a header of 128 bytes and a row of elements. Each element begins with a tag, its type and its length
in bytes; a matrix is an element that holds others: flags, dimensions, name, then its numbers.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import BinaryIO

_HEADER = 128
_ORDERS = {b"IM": "<", b"MI": ">"}
_INT8, _INT32, _UINT32, _MATRIX, _COMPRESSED = 1, 5, 6, 14, 15
_SIZES = {
    1: 1,
    2: 1,
    3: 2,
    4: 2,
    5: 4,
    6: 4,
    7: 4,
    9: 8,
    12: 8,
    13: 8,
    16: 1,
    17: 2,
    18: 4,
}  # bytes per value
_CHARACTERS, _NUMBERS = 4, range(6, 16)  # classes of matrices that are read
_CLASS, _COMPLEX = 0xFF, 0x0800  # parts of the flags
_START = 8192  # bytes of a matrix that surely hold its first four tags


def check_tags(file: BinaryIO) -> set[str]:
    """The names of the complex matrices, after a look at all.

    It is a ``ValueError`` if a matrix of numbers or text has tags that contradict each other or the file.
    """
    found: set[str] = set()
    header = file.read(_HEADER)
    order = _ORDERS.get(header[-2:])
    if order is None or len(header) < _HEADER:
        return found  # the older version 4 has no tags
    end = file.seek(0, 2)
    place = _HEADER
    while place < end:
        file.seek(place)
        kind, size = struct.unpack(f"{order}II", file.read(8))
        place += 8 + size
        if place > end:
            raise ValueError(f"{place:,} bytes expected but {end:,} found")
        start = file.read(min(size, _START))
        if kind == _COMPRESSED:
            start = zlib.decompressobj().decompress(start, _START)
            kind, size = struct.unpack_from(f"{order}II", start)
            start = start[8:]
        if kind == _MATRIX and size:
            found |= _check_matrix(start, size, order)
    return found


def _check_matrix(start: bytes, size: int, order: str) -> set[str]:
    (flags, _), place = struct.unpack_from(f"{order}II", start, 8), 16
    _expect(_tag(start, 0, order)[:2] == (_UINT32, 8))
    kind, length, data, place = _tag(start, place, order)
    _expect(kind == _INT32 and length % 4 == 0 and 2 <= length // 4 <= 32)
    shape = struct.unpack_from(f"{order}{length // 4}i", start, data)
    kind, length, data, place = _tag(start, place, order)
    _expect(kind == _INT8)
    if flags & _COMPLEX:
        return {start[data : data + length].decode("latin-1")}
    if flags & _CLASS == _CHARACTERS or flags & _CLASS in _NUMBERS:
        kind, length, data, _ = _tag(start, place, order)
        _expect(kind in _SIZES and data + length <= size)
        _expect(min(shape) >= 0 and (flags & _CLASS == _CHARACTERS or length == math.prod(shape) * _SIZES[kind]))
    return set()


def _tag(start: bytes, place: int, order: str) -> tuple[int, int, int, int]:
    """The type and length of an element, where its data begin and where the next element begins."""
    kind, length = struct.unpack_from(f"{order}II", start, place)
    if kind >> 16:  # up to four bytes of data are packed into the tag
        _expect(kind >> 16 <= 4)
        return kind & 0xFFFF, kind >> 16, place + 4, place + 8
    return kind, length, place + 8, place + 8 + length + -length % 8


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError("its tags are damaged")
