"""MATLAB files: read whole by SciPy, except version 7.3, which is HDF5 with its axes reversed."""

from __future__ import annotations

import math
import struct
import zlib
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from unhub.foundation.types import AnyArray
from unhub.io.address import Address, Contents, Part
from unhub.io.hdf5 import Dataset, datasets
from unhub.io.limits import check_size

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SIGNATURE_OFFSETS = (0, 512)  # MATLAB puts 512 bytes of its own before it
_CLASSES = {
    **{kind: np.dtype(kind) for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
    "double": np.dtype("f8"),
    "single": np.dtype("f4"),
    "logical": np.dtype("?"),
    "char": np.dtype("U"),
    "complex": np.dtype("c16"),
}
_NOT_READ = np.dtype("V")  # cells, structures, objects, sparse matrices: a damaged one can crash SciPy
_ID_NAMES = ("ids", "id")

_HEADER = 128
_ORDERS = {b"IM": "<", b"MI": ">"}
_UINT32, _MATRIX, _COMPRESSED = 6, 14, 15
_OF_SHAPE, _OF_NAME = (5, 6), (1, 2, 16)  # data types that writers use for these
_KINDS = {1: (1, 2, 16), 2: (3, 4, 17), 4: (5, 6, 7, 18), 8: (9, 12, 13)}  # data types by bytes per value
_SIZES = {kind: size for size, kinds in _KINDS.items() for kind in kinds}
_CHARACTERS, _NUMBERS = 4, range(6, 16)  # classes of matrices that are read
_CLASS, _COMPLEX = 0xFF, 0x0800  # parts of the flags
_TEXT_BYTES, _NUMBER_BYTES = 4, 8  # of each entry of a matrix in memory
_START = 8192  # bytes of a matrix that surely hold its first four tags
_OLD_SIZES = (8, 4, 4, 2, 2, 1)  # bytes per value in version 4, by data type
_OLD_SPARSE, _OLD_CLASSES = 2, 3
_OLD_TYPES = 5000  # in the right byte order, the first number of a header is below this


class Transposed:
    """A matrix on disk whose columns are our rows; a block of rows is read as a block of columns."""

    def __init__(self, stored: Any) -> None:
        self._stored = stored
        self.shape = tuple(reversed(stored.shape))
        self.dtype: np.dtype[Any] = stored.dtype

    def __getitem__(self, rows: slice) -> AnyArray:
        return np.asarray(self._stored[:, rows]).T


def read_matlab(address: Address) -> Contents:
    """The variables of the file by name."""
    with address.open() as file:
        head = file.read(max(_SIGNATURE_OFFSETS) + len(_HDF5_SIGNATURE))
    if any(head.startswith(_HDF5_SIGNATURE, offset) for offset in _SIGNATURE_OFFSETS):
        return Contents({key: _hdf5_part(dataset) for key, dataset in datasets(address).items() if key[0] != "#"})
    import scipy.io

    with address.open() as file:
        complex_names = check_tags(file, address)
    listed = scipy.io.whosmat(str(address.path), appendmat=False)
    kinds = {key: (shape, "complex" if key in complex_names else kind) for key, shape, kind in listed}
    if len(kinds) < len(listed) or not complex_names <= kinds.keys():  # the listing is not what would be loaded
        raise ValueError("it has two variables of one name")
    return Contents({key: _part(address, key, shape, kind) for key, (shape, kind) in kinds.items()})


def _hdf5_part(dataset: Dataset) -> Part:
    part, kind = dataset.part(), dataset.facts["class"]
    if kind is None or len(part.shape) != 2:
        return part
    shape = (part.shape[1], part.shape[0])
    return Part(shape, _CLASSES.get(kind, _NOT_READ), lambda: Transposed(part.load()))


def _part(address: Address, key: str, shape: tuple[int, ...], kind: str) -> Part:
    if key in _ID_NAMES:  # MATLAB has no vectors, only matrices of one row or one column
        shape = (max(shape),)
    return Part(shape, _CLASSES.get(kind, _NOT_READ), partial(_load, address, key))


def _load(address: Address, key: str) -> Any:
    import scipy.io

    values = scipy.io.loadmat(str(address.path), variable_names=[key], appendmat=False)[key]
    if key not in _ID_NAMES:
        return values
    return np.char.rstrip(np.ravel(values)) if values.dtype.kind == "U" else np.ravel(values)


def check_tags(file: BinaryIO, address: Address) -> set[str]:
    """The names of the complex matrices, after all tags were checked.

    A ``ValueError`` if a matrix of numbers or text has tags that contradict each other or the file, and an error of
    unhub if one promises more than there is memory for: SciPy allocates what its tags say.
    """
    header = file.read(_HEADER)
    end = file.seek(0, 2)
    if 0 in header[:4]:  # how SciPy tells the versions apart
        return _check_version_4(file, end, address)
    mark = header[126:]
    if mark not in _ORDERS:  # SciPy would take any other for b'MI'
        raise ValueError(f"its byte order mark is {mark!r}, and not b'IM' or b'MI'")
    complex_names: set[str] = set()
    order, place = _ORDERS[mark], _HEADER
    while place < end:
        file.seek(place)
        kind, size = struct.unpack(f"{order}II", file.read(8))
        place += 8 + size
        _check_end(place, end)
        start = file.read(min(size, _START))
        if kind == _COMPRESSED:
            start = zlib.decompressobj().decompress(start, _START)
            kind, size = struct.unpack_from(f"{order}II", start)
            start = start[8:]
        if kind == _MATRIX and size:
            check_size(address, size)
            complex_names |= _check_matrix(start, size, order, address)
    return complex_names


def _check_version_4(file: BinaryIO, end: int, address: Address) -> set[str]:
    complex_names: set[str] = set()
    file.seek(0)
    (first,) = struct.unpack("<i", file.read(4))
    order, place = "<" if 0 <= first <= _OLD_TYPES else ">", 0
    while place < end:
        file.seek(place)
        kind, rows, columns, imaginary, name = struct.unpack(f"{order}5i", file.read(20))
        machine, (data, matrix) = kind // 100, divmod(kind % 100, 10)
        _expect(machine in (0, 10) and data < len(_OLD_SIZES) and matrix < _OLD_CLASSES)
        _expect(min(rows, columns) >= 0 and imaginary in (0, 1) and 0 < name <= end)
        size = rows * columns * _OLD_SIZES[data] * (1 + (imaginary and matrix != _OLD_SPARSE))
        _expect(size < 1 << 31)  # SciPy counts no further
        place += 20 + name + size
        _check_end(place, end)
        check_size(address, rows * columns * _NUMBER_BYTES)
        if imaginary:
            complex_names.add(file.read(name).strip(b"\0").decode("latin-1"))
    return complex_names


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
    check_size(address, math.prod(shape) * (_TEXT_BYTES if is_text else _NUMBER_BYTES))
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


def _check_end(place: int, end: int) -> None:
    if place > end:
        raise ValueError(f"{place:,} bytes expected but {end:,} found")


def _expect(valid: bool) -> None:
    if not valid:
        raise ValueError("its tags are damaged")
