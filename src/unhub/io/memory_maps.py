"""Memory maps that a caller passes, read from their file instead: a map ends the process when its file is cut short."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray
from unhub.io.address import Address
from unhub.io.file_array import FileArray, OpenFile

_MAPS = Path("/proc/self/maps")
READ_ONLY = "r"


def unmapped(array: AnyArray, *, name: str) -> FileArray | None:
    """The array in the file behind a memory map, or None where it is no map or its place in the file is not known.

    It is known for read-only maps whose numbers lie in one piece, on Linux, while the file that was mapped is still the
    one at its path. Maps that can be written to are taken as they are.
    """
    root = _root(array)
    if root is None or not array.nbytes or not (array.flags.c_contiguous or array.flags.f_contiguous):
        return None
    mapped: Any = root._mmap  # type: ignore[attr-defined]  # NumPy has no public name for it
    first = np.frombuffer(mapped, np.uint8).__array_interface__["data"][0]
    place = array.__array_interface__["data"][0] - first
    offset = root.offset - root.offset % mmap.ALLOCATIONGRANULARITY + place
    try:
        opened = OpenFile(Address(name, Path(root.filename)))  # type: ignore[arg-type]  # _root looked
    except (OSError, InputError):
        return None
    whole = opened.stamp.size >= offset + array.nbytes
    if not whole or _mapped_file(first) != (opened.stamp.inode, os.path.realpath(opened.address.path)):
        return None
    return FileArray(opened, offset, array.shape, array.dtype, fortran=not array.flags.c_contiguous)


def _root(array: AnyArray) -> np.memmap[Any, Any] | None:
    """The read-only memory map of a named file that the array is a view of, if it is one."""
    each: Any = array
    while isinstance(each, np.ndarray):
        if isinstance(each, np.memmap) and isinstance(each._mmap, mmap.mmap):  # type: ignore[attr-defined]
            return each if each.mode == READ_ONLY and each.filename is not None else None
        each = each.base
    return None


def _mapped_file(address: int) -> tuple[int, str] | None:
    """The inode and the path of the file that is mapped at an address of this process; None where nobody says.

    The path is where the file is now, with " (deleted)" behind it if it is nowhere. The device is not looked at: on
    btrfs and overlayfs it is another number than a file's own facts have.
    """
    try:
        lines = _MAPS.read_bytes().decode(errors="surrogateescape").split("\n")
    except OSError:
        return None
    for line in filter(None, lines):
        span, _, _, _, inode, *path = line.split(maxsplit=5)
        low, high = (int(end, 16) for end in span.split("-"))
        if low <= address < high:
            return int(inode), path[0].replace("\\012", "\n") if path else ""
    return None
