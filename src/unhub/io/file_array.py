"""An array that stays in its file and is read in blocks, without mapping the file into memory.

A mapped file that is cut short ends the process (SIGBUS), and one that is rewritten mixes old and new numbers. Here
every read is a copy, and a short read or a file that has changed since it was opened is an error.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from unhub.foundation.regular_files import stamp_of
from unhub.foundation.types import AnyArray, IntArray
from unhub.io.address import Address

SCATTERED = 8
"""how many rows may be read for each wanted one before rows are read one by one"""


def fill(array: AnyArray, read: Callable[[memoryview, int], int]) -> bool:
    """Whether a contiguous array could be filled by ``read(room, bytes so far)``, which says how many bytes it read."""
    room = array.reshape(-1).view(np.uint8).data if array.nbytes else memoryview(b"")
    start = 0
    while start < array.nbytes:
        count = read(room[start:], start)
        if not count:
            return False
        start += count
    return True


class OpenFile:
    """One file that stays open to be read in pieces, until nothing refers to it.

    version: the size and time that it must have, if it was opened before, perhaps on another machine.
    """

    def __init__(self, address: Address, version: tuple[int, int] | None = None) -> None:
        self.address = address
        with address.open() as file:
            self._number = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._number)
        self.stamp = stamp_of(os.fstat(self._number))
        self._turn = threading.Lock()
        if version not in (None, self.stamp.version):
            raise address.changed()

    def from_start(self) -> BinaryIO:
        """The same file to read a header from; closing it leaves this one open."""
        os.lseek(self._number, 0, os.SEEK_SET)
        return open(self._number, "rb", closefd=False)

    def check(self) -> None:
        """An error if the file was written to since it was opened. Replacing it leaves the open file as it was."""
        if stamp_of(os.fstat(self._number)) != self.stamp:
            raise self.address.changed()

    def read_into(self, array: AnyArray, offset: int) -> None:
        """Fills a contiguous array with the bytes from ``offset`` on."""
        if not fill(array, lambda room, done: self._read(room, offset + done)):
            raise self.address.changed()

    def _read(self, room: memoryview, offset: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._number, [room], offset)
        with self._turn, open(self._number, "rb", buffering=0, closefd=False) as file:  # Windows: one position
            file.seek(offset)
            return file.readinto(room)


class FileArray:
    """An array of a file: its offset and type are known, blocks along the first axis are read on demand.

    ``in_memory`` is the whole array once ``load`` has read it; no change on disk reaches it. It is pickled as its path,
    size and time.
    """

    def __init__(
        self, file: OpenFile, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], *, fortran: bool = False
    ) -> None:
        self._file: OpenFile | None = file
        self._address, self._version = file.address, file.stamp.version
        self._offset, self.fortran = offset, fortran and len(shape) > 1
        self.shape, self.dtype = shape, dtype
        self.in_memory: AnyArray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._address, self._version, self._offset, self.shape, self.dtype, self.fortran)

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
        return FileArray(self._opened(), self._offset, self.shape[::-1], self.dtype, fortran=not self.fortran)

    def flattened(self) -> FileArray:
        """The matrix of all rows of a stack: (a, b, c) as (a x b, c)."""
        if self.fortran:
            raise ValueError("an array in Fortran order cannot be flattened without a copy")
        return FileArray(self._opened(), self._offset, (math.prod(self.shape[:-1]), self.shape[-1]), self.dtype)

    def part(self, index: int) -> FileArray:
        """One member along the first axis."""
        if self.fortran:
            raise ValueError("a part of an array in Fortran order is not in one piece")
        size = self.nbytes // self.shape[0]
        return FileArray(self._opened(), self._offset + index * size, self.shape[1:], self.dtype)

    def load(self) -> AnyArray:
        """The whole array in memory, read once; the file is closed."""
        if self.in_memory is None:
            whole = self._read(0, self.shape[0])
            whole.flags.writeable = False
            self.in_memory = whole
            self._file = None
        return self.in_memory

    def _opened(self) -> OpenFile:
        """The file, opened again if it was closed."""
        return self._file or OpenFile(self._address, self._version)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> AnyArray:
        block: AnyArray
        if self.in_memory is not None:
            block = self.in_memory[rows]
        elif isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            if step != 1:
                raise TypeError(f"blocks of rows are read, not every {step}th row")
            block = self._read(start, max(start, stop))
        elif not len(rows):
            block = self._read(0, 0)
        elif (span := int(rows.max()) - (first := int(rows.min()))) < SCATTERED * len(rows):
            block = self._read(first, first + span + 1)[rows - first]
        else:
            block = np.concatenate([self._read(row, row + 1) for row in rows.tolist()])
        return block

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        whole = self[:]
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def _read(self, start: int, stop: int) -> AnyArray:
        file = self._file
        block: AnyArray
        if file is None and self.in_memory is not None:  # another thread has read all of it meanwhile
            block = self.in_memory[start:stop]
            return block
        file = file or self._opened()
        block = np.empty((stop - start, *self.shape[1:]), self.dtype, order="F" if self.fortran else "C")
        item = self.dtype.itemsize
        if not self.fortran:
            file.read_into(block, self._offset + start * item * math.prod(self.shape[1:]))
        elif (start, stop) == (0, self.shape[0]):
            file.read_into(block.T, self._offset)
        else:
            columns = block.reshape(stop - start, math.prod(self.shape[1:]), order="F")
            for column in range(columns.shape[1]):
                file.read_into(columns[:, column], self._offset + (column * self.shape[0] + start) * item)
        file.check()
        return block


def _reopen(
    address: Address, version: tuple[int, int], offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], fortran: bool
) -> FileArray:
    return FileArray(OpenFile(address, version), offset, shape, dtype, fortran=fortran)


_DROPPED_BITS = 16  # a bfloat16 is the upper half of a float32


class BrainFloats:
    """An array of float32 over stored bfloat16; only what is asked for is converted."""

    dtype = np.dtype(np.float32)

    def __init__(self, bits: FileArray) -> None:
        self._bits = bits
        self.shape, self.nbytes = bits.shape, bits.nbytes

    @property
    def in_memory(self) -> AnyArray | None:
        """The stored bits, if they were read into memory."""
        return self._bits.in_memory

    def load(self) -> None:
        """Reads the stored bits into memory, once."""
        self._bits.load()

    def __getitem__(self, rows: slice) -> AnyArray:
        wide = np.asarray(self._bits[rows]).astype(np.uint32) << _DROPPED_BITS
        return wide.view(np.float32)
