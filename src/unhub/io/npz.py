"""The ``.npz`` format: a zip of ``.npy`` files. Headers are listed first; the chosen array is read whole."""

from __future__ import annotations

import math
import zipfile
from functools import partial
from typing import IO, Any

import numpy as np

from unhub.io.address import Address
from unhub.io.contents import Contents, Part
from unhub.io.damage import cut_short
from unhub.io.limits import DEFLATE_RATIO, check_promise
from unhub.io.npy import Header, pickled_objects, read_header

_PIECE = 1 << 20  # bytes that are unpacked at once

_PACKED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # what numpy.savez writes; others may ask for memory themselves


def read_npz(address: Address) -> Contents:
    """The arrays of the archive by name, unread."""
    with address.open() as file, zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        return Contents({member.filename[: -len(".npy")]: _part(address, archive, member) for member in members})


def _part(address: Address, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Part:
    with _member(archive, member) as file:
        (shape, _, dtype), _ = _header(address, member, file)
    return Part(shape, dtype, partial(_load, address, member.filename))


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """The member, open; it gives no more bytes than the directory of the archive says."""
    if member.compress_type not in _PACKED:
        raise ValueError(f"{member.filename} is compressed in a way that numpy.savez never uses")
    return archive.open(member)


def _header(address: Address, member: zipfile.ZipInfo, file: IO[bytes]) -> tuple[Header, int]:
    """What the array's own header says, and the bytes of its numbers; the archive must have room for them."""
    header = read_header(file)  # type: ignore[arg-type]  # a zip member reads like a binary file
    shape, _, dtype = header
    size = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and member.file_size < file.tell() + size:
        raise cut_short(address, expected=file.tell() + size, found=member.file_size)
    ratio = DEFLATE_RATIO if member.compress_type == zipfile.ZIP_DEFLATED else 1
    if member.file_size > member.compress_size * ratio:
        raise ValueError(f"{member.filename} says that it unpacks to more than its bytes can become")
    return header, size


def _load(address: Address, filename: str) -> np.ndarray[Any, Any]:
    with address.open() as opened, zipfile.ZipFile(opened) as archive:
        member = archive.getinfo(filename)
        with _member(archive, member) as file:
            (shape, fortran, dtype), size = _header(address, member, file)
            if dtype.hasobject:
                raise pickled_objects(address, f" in {filename[: -len('.npy')]!r}")
            check_promise(address, size, part=filename[: -len(".npy")])
            array = np.empty(shape, dtype, order="F" if fortran else "C")
            _fill(file, array.T if fortran else array)
            if file.read(1):  # the checksum is compared where the member ends
                raise ValueError(f"{filename} is longer than its header promises")
    return array


def _fill(file: IO[bytes], array: np.ndarray[Any, Any]) -> None:
    if not array.nbytes:
        return
    room = array.reshape(-1).view(np.uint8).data
    while len(room):
        count = file.readinto(room[:_PIECE])  # type: ignore[attr-defined]  # a zip member has it
        if not count:
            raise ValueError("it ends in the middle of an array")
        room = room[count:]
