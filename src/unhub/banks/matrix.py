"""A bank whose scores already exist: an array, a memory-mapped file, a data set on disk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.foundation.types import FloatArray, Sliceable


@dataclass(frozen=True)
class MatrixBank:
    """Scores read from a matrix (bank, gallery), whatever holds it."""

    scores: Sliceable
    block_rows: int

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""
        rows, columns = self.scores.shape
        return rows, columns

    def read(self, start: int, stop: int) -> FloatArray:
        """The stored scores; half precision and integers become float32."""
        block = np.asarray(self.scores[start:stop])
        return block if block.dtype in (np.float32, np.float64) else block.astype(np.float32)
