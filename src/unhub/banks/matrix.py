"""A bank whose scores already exist: an array, a memory-mapped file, a data set on disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.core.arrays import is_tensor, namespace
from unhub.foundation.types import FloatArray, Sliceable


@dataclass(frozen=True)
class MatrixBank:
    """Scores read from a matrix (bank, gallery), whatever holds it."""

    scores: Sliceable
    block_rows: int
    tall_rows: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""
        rows, columns = self.scores.shape
        return rows, columns

    @property
    def slab_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""
        return self.tall_rows or self.block_rows

    @property
    def home(self) -> Any:
        """an array of the library that the scores come in"""
        return self.scores if is_tensor(self.scores) else np.empty(0)

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The stored scores; half precision and integers become float32, in ``out`` if there is one."""
        block: Any = self.scores[start:stop]
        if is_tensor(block):
            xp: Any = namespace(block)
        else:
            xp, block = np, np.asarray(block)
        if block.dtype not in (xp.float32, xp.float64):
            if xp is np and out is not None:
                np.copyto(out, block, casting="unsafe")
                return out
            block = xp.astype(block, xp.float32)
        scores: FloatArray = block
        return scores
