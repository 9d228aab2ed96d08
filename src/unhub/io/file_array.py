"""An array that stays in its file and is read in blocks, without mapping the file into memory.

A mapped file that is cut short ends the process (SIGBUS), and one that is rewritten gives old and new numbers mixed.
Here every read is a copy, a short read is an error, and so is a file that is not as it was when it was opened.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray, IntArray
from unhub.io.address import Address

Stamp = tuple[int, int, int, int]
"""device, inode, bytes and time of the last change of a file"""


SCATTERED = 8
"""rows between the first and the last that is wanted, for each that is, up to which they are read in one piece"""


def stamp_of(found: os.stat_result) -> Stamp:
    """What tells whether a file is still the same. The inode's own time is left out: a hard link changes it."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def changed(address: Address) -> InputError:
    """The error for a file that is not as it was when it was opened."""
    return address.problem("was changed while it was being read; start again when nothing writes to it.")


class OpenFile:
    """A file that stays open to be read in pieces, the same one all along; it travels as its path."""

    def __init__(self, address: Address, stamp: Stamp | None = None) -> None:
        self.address = address
        self._file = address.open()
        self._number = self._file.fileno()
        self.stamp = stamp_of(os.fstat(self._number)) if stamp is None else stamp
        self._turn = threading.Lock()
        self.check()

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenFile, (self.address, self.stamp)

    def check(self) -> None:
        """An error if the file was written to since it was opened. One that another has replaced is still itself."""
        if stamp_of(os.fstat(self._number)) != self.stamp:
            raise changed(self.address)

    def read_into(self, array: AnyArray, offset: int) -> None:
        """Fills an array whose values lie one after the other with the bytes from ``offset`` on."""
        if not array.nbytes:
            return
        room = array.reshape(-1).view(np.uint8).data
        while len(room):
            count = self._read(room, offset)
            if count == 0:
                raise changed(self.address)
            room, offset = room[count:], offset + count

    def _read(self, room: memoryview, offset: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._number, [room], offset)
        with self._turn:  # macOS and Windows have one place in the file for all threads
            self._file.seek(offset)
            return self._file.readinto(room)  # type: ignore[attr-defined, no-any-return]


class FileArray:
    """An array of a file: its place and type are known, blocks along the first axis are read when they are asked for.

    ``kept`` is the whole of it once ``keep`` has read it; it is ours alone, so that no change on disk reaches it.
    """

    def __init__(
        self, file: OpenFile, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], *, fortran: bool = False
    ) -> None:
        self._file, self._offset, self.fortran = file, offset, fortran and len(shape) > 1
        self.shape, self.dtype = shape, dtype
        self.kept: AnyArray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _array, (self._file, self._offset, self.shape, self.dtype, self.fortran)

    @property
    def ndim(self) -> int:
        """how many axes"""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """bytes of the whole"""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def T(self) -> FileArray:  # as NumPy calls it
        """The same bytes with the axes the other way round."""
        return FileArray(self._file, self._offset, self.shape[::-1], self.dtype, fortran=not self.fortran)

    def flattened(self) -> FileArray:
        """The matrix of all rows of a stack: (a, b, c) as (a x b, c)."""
        if self.fortran:
            raise ValueError("an array in Fortran order cannot be flattened without a copy")
        return FileArray(self._file, self._offset, (math.prod(self.shape[:-1]), self.shape[-1]), self.dtype)

    def part(self, index: int) -> FileArray:
        """One member along the first axis."""
        if self.fortran:
            raise ValueError("a part of an array in Fortran order is not in one piece")
        size = self.nbytes // self.shape[0]
        return FileArray(self._file, self._offset + index * size, self.shape[1:], self.dtype)

    def keep(self) -> AnyArray:
        """The whole array in memory, read once."""
        if self.kept is None:
            whole = self._read(0, self.shape[0])
            whole.flags.writeable = False
            self.kept = whole
        return self.kept

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> AnyArray:
        if self.kept is not None:
            picked: AnyArray = self.kept[rows]
            return picked
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            if step != 1:
                raise TypeError(f"blocks of rows are read, not every {step}th row")
            return self._read(start, max(start, stop))
        if not len(rows):
            return self._read(0, 0)
        first, last = int(rows.min()), int(rows.max())
        if last - first < SCATTERED * len(rows):
            found: AnyArray = self._read(first, last + 1)[rows - first]
            return found
        return np.concatenate([self._read(row, row + 1) for row in rows.tolist()])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        whole = self[:]
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def _read(self, start: int, stop: int) -> AnyArray:
        block: AnyArray = np.empty((stop - start, *self.shape[1:]), self.dtype, order="F" if self.fortran else "C")
        item = self.dtype.itemsize
        if not self.fortran:
            self._file.read_into(block, self._offset + start * item * math.prod(self.shape[1:]))
        elif (start, stop) == (0, self.shape[0]):
            self._file.read_into(block.T, self._offset)
        else:
            columns = block.reshape(stop - start, math.prod(self.shape[1:]), order="F")
            for column in range(columns.shape[1]):
                self._file.read_into(columns[:, column], self._offset + (column * self.shape[0] + start) * item)
        self._file.check()
        return block


def _array(file: OpenFile, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], fortran: bool) -> FileArray:
    return FileArray(file, offset, shape, dtype, fortran=fortran)
