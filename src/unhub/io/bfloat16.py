"""Brain floats on disk: 16 bits that NumPy has no type for, given back as float32, block by block."""

from __future__ import annotations

import numpy as np

from unhub.foundation.types import AnyArray
from unhub.io.file_array import FileArray

_DROPPED_BITS = 16  # a bfloat16 is the upper half of a float32


class BrainFloats:
    """An array of float32 over stored bfloat16; only what is asked for is converted."""

    dtype = np.dtype(np.float32)

    def __init__(self, bits: FileArray) -> None:
        self._bits = bits
        self.shape, self.nbytes = bits.shape, bits.nbytes

    @property
    def kept(self) -> AnyArray | None:
        """The stored bits, if they were read into memory."""
        return self._bits.kept

    def keep(self) -> None:
        """Reads the stored bits into memory, once."""
        self._bits.keep()

    def __getitem__(self, rows: slice) -> AnyArray:
        wide = np.asarray(self._bits[rows]).astype(np.uint32) << _DROPPED_BITS
        return wide.view(np.float32)
