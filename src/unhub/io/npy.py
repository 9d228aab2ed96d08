"""NumPy's own formats: ``.npy``, read in blocks, and ``.npz``, a zip of them, whose chosen array is read whole."""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from unhub.foundation.errors import InputError
from unhub.io.address import WHOLE, Address, Contents, Part
from unhub.io.file_array import FileArray, OpenFile, fill
from unhub.io.limits import DEFLATE_RATIO, check_size

_HEADERS = {(1, 0): (npy_format.read_array_header_1_0, 2), (2, 0): (npy_format.read_array_header_2_0, 4)}
"""by version: NumPy's reader of the header, and the bytes of its length"""

_LONGEST_HEADER = 10_000  # NumPy's own limit
_PIECE = 1 << 20  # bytes that are unpacked at once
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""what numpy.savez writes; others may take much memory to unpack"""

Header = tuple[tuple[int, ...], bool, np.dtype[Any]]  # shape, Fortran order, dtype


@dataclass(frozen=True)
class StoredArray:
    """What the header of a file says about its array; the numbers are read from the same open file."""

    file: OpenFile
    offset: int
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @property
    def array(self) -> FileArray:
        """The numbers, left in the file; an error if there are more or fewer bytes than the header promises."""
        address, actual = self.file.address, self.file.stamp.size
        expected = self.offset + math.prod(self.shape) * self.dtype.itemsize
        if actual < expected:
            raise address.truncated(expected=expected, actual=actual)
        if actual > expected:
            raise address.problem(
                f"has {actual:,} bytes where its header promises {expected:,}; write it again with one numpy.save."
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
        check_size(address, array.nbytes)
        return Contents({str(index): Part.of(each) for index, each in enumerate(array.load())})
    if len(shape) == 3:
        return Contents({str(index): Part.of(array.part(index)) for index in range(shape[0])})
    return Contents({WHOLE: Part.of(array)})


def read_header(file: BinaryIO) -> Header:
    """What the header says about the array; the file is left at the first byte of its numbers."""
    version = npy_format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"npy version {version} is unknown")
    read, size = _HEADERS[version]
    length = file.read(size)
    if int.from_bytes(length, "little") > _LONGEST_HEADER:  # NumPy would read it before refusing it
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


def read_npz(address: Address) -> Contents:
    """The arrays of the archive by name, unread."""
    with address.open() as file, zipfile.ZipFile(file) as archive:
        parts = {}
        for member in archive.infolist():
            if member.filename.endswith(".npy"):
                with _member(archive, member) as opened:
                    (shape, _, dtype), _ = _header(address, member, opened)
                parts[member.filename[: -len(".npy")]] = Part(shape, dtype, partial(_load, address, member.filename))
        return Contents(parts)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """The member, open; it gives no more bytes than the directory of the archive says."""
    if member.compress_type not in _COMPRESSIONS:
        raise ValueError(f"{member.filename} is compressed in a way that numpy.savez never uses")
    return archive.open(member)


def _header(address: Address, member: zipfile.ZipInfo, file: IO[bytes]) -> tuple[Header, int]:
    """The array's own header, and the bytes of its numbers; an error if the archive has no room for them."""
    header = read_header(file)  # type: ignore[arg-type]  # a zip member reads like a binary file
    shape, _, dtype = header
    size = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and member.file_size < file.tell() + size:
        raise address.truncated(expected=file.tell() + size, actual=member.file_size)
    ratio = DEFLATE_RATIO if member.compress_type == zipfile.ZIP_DEFLATED else 1
    if member.file_size > member.compress_size * ratio:
        raise ValueError(f"{member.filename} declares that it unpacks to more than its bytes can become")
    return header, size


def _load(address: Address, filename: str) -> np.ndarray[Any, Any]:
    with address.open() as opened, zipfile.ZipFile(opened) as archive:
        member = archive.getinfo(filename)
        with _member(archive, member) as file:
            (shape, fortran, dtype), size = _header(address, member, file)
            if dtype.hasobject:
                raise pickled_objects(address, f" in {filename[: -len('.npy')]!r}")
            check_size(address, size, part=filename[: -len(".npy")])
            array = np.empty(shape, dtype, order="F" if fortran else "C")
            if not fill(array.T if fortran else array, lambda room, _: file.readinto(room[:_PIECE])):  # type: ignore[attr-defined]
                raise ValueError("it ends in the middle of an array")
            if file.read(1):  # the checksum is compared where the member ends
                raise ValueError(f"{filename} is longer than its header promises")
    return array
