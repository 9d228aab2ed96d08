"""The ``.npz`` format: a zip of ``.npy`` files. Headers are listed first; the chosen array is read whole."""

from __future__ import annotations

import math
import zipfile
from functools import partial
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from unhub.io.address import Address
from unhub.io.contents import Contents, Part
from unhub.io.damage import cut_short
from unhub.io.npy import pickled_objects, read_header


def read_npz(address: Address) -> Contents:
    """The arrays of the archive by name, unread."""
    with zipfile.ZipFile(address.path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        return Contents({member.filename[: -len(".npy")]: _part(address, archive, member) for member in members})


def _part(address: Address, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Part:
    with archive.open(member) as file:
        shape, _, dtype = read_header(file)  # type: ignore[arg-type]  # a zip member reads like a binary file
        expected = file.tell() + math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and member.file_size < expected:
        raise cut_short(address, expected=expected, found=member.file_size)
    return Part(shape, dtype, partial(_load, address, member.filename, dtype))


def _load(address: Address, filename: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.hasobject:
        raise pickled_objects(address, f" in {filename[: -len('.npy')]!r}")
    with zipfile.ZipFile(address.path) as archive, archive.open(filename) as file:
        array: np.ndarray[Any, Any] = npy_format.read_array(file, allow_pickle=False)
        file.read()  # the checksum is compared at the end of the member
    return array
