"""A look at the tags of a MATLAB 5 file before SciPy sees it: SciPy follows a damaged tag out of bounds.

A file is a header of 128 bytes and a row of elements. Each element begins with a tag, its type and its length
in bytes; a matrix is an element that holds others: flags, dimensions, name, then its numbers.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import BinaryIO

from unhub.io.address import Address
from unhub.io.limits import check_promise

_HEADER = 128
_ORDERS = {b"IM": "<", b"MI": ">"}
_UINT32, _MATRIX, _COMPRESSED = 6, 14, 15
_OF_SHAPE, _OF_NAME = (5, 6), (1, 2, 16)  # types of data that other writers use for these, too
_KINDS = {1: (1, 2, 16), 2: (3, 4, 17), 4: (5, 6, 7, 18), 8: (9, 12, 13)}  # types of data by bytes per value
_SIZES = {kind: size for size, kinds in _KINDS.items() for kind in kinds}
_CHARACTERS, _NUMBERS = 4, range(6, 16)  # classes of matrices that are read
_CLASS, _COMPLEX = 0xFF, 0x0800  # parts of the flags
_TEXT_BYTES, _NUMBER_BYTES = 4, 8  # of each entry of a matrix in memory
_START = 8192  # bytes of a matrix that surely hold its first four tags


def check_tags(file: BinaryIO, address: Address) -> set[str]:
    """The names of the complex matrices, after a look at all.

    It is a ``ValueError`` if a matrix of numbers or text has tags that contradict each other or the file, and an error
    of unhub if one promises more than there is memory for: SciPy makes room for what its tags say.
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
            check_promise(address, size)
            found |= _check_matrix(start, size, order, address)
    return found


def _check_matrix(start: bytes, size: int, order: str, address: Address) -> set[str]:
    _expect(_tag(start, 0, order)[:2] == (_UINT32, 8))
    (flags,) = struct.unpack_from(f"{order}I", start, 8)
    is_text = flags & _CLASS == _CHARACTERS
    if not is_text and flags & _CLASS not in _NUMBERS:
        return set()
    kind, length, data, place = _tag(start, 16, order)
    _expect(kind in _OF_SHAPE and length % 4 == 0 and 2 <= length // 4 <= 32)
    shape = struct.unpack_from(f"{order}{length // 4}i", start, data)
    kind, length, data, place = _tag(start, place, order)
    _expect(kind in _OF_NAME and min(shape) >= 0)
    check_promise(address, math.prod(shape) * (_TEXT_BYTES if is_text else _NUMBER_BYTES))
    if flags & _COMPLEX:
        return {start[data : data + length].decode("latin-1")}
    kind, length, data, _ = _tag(start, place, order)
    _expect(kind in _SIZES and data + length <= size)
    _expect(is_text or length == math.prod(shape) * _SIZES[kind])
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
