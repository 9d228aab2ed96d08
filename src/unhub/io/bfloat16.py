"""Brain floats on disk: 16 bits that NumPy has no type for, given back as float32, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.foundation.types import AnyArray

_DROPPED_BITS = 16  # a bfloat16 is the upper half of a float32


class BrainFloats:
    """An array of float32 over stored bfloat16; only what is asked for is converted."""

    dtype = np.dtype(np.float32)

    def __init__(self, bits: np.ndarray[Any, np.dtype[np.uint16]]) -> None:
        self._bits = bits
        self.shape = bits.shape

    def __getitem__(self, rows: slice) -> AnyArray:
        wide = np.asarray(self._bits[rows]).astype(np.uint32) << _DROPPED_BITS
        return wide.view(np.float32)
