"""A bank whose scores are inner products of embeddings, computed block by block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unhub.foundation.types import FloatArray, Sliceable

TILE = 8192
"""targets turned to float32 at once when the gallery is not a float32 array in memory"""

SHORTEST, LONGEST = 1e-15, 1e15
"""lengths between which squares keep their digits in float32"""


@dataclass(frozen=True)
class EmbeddingBank:
    """Scores s_uj = q_u . t_j of bank queries and targets; the full matrix is never formed.

    queries: (bank, dim); targets: (gallery, dim); normalize divides every row by its length on the way.
    """

    queries: Sliceable
    targets: Sliceable
    block_rows: int
    normalize: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""
        return self.queries.shape[0], self.targets.shape[0]

    def read(self, start: int, stop: int) -> FloatArray:
        """One matrix product for the rows start..stop, float32."""
        rows = vectors(self.queries, start, stop, normalize=self.normalize)
        n = self.targets.shape[0]
        tile = n if _ready(self.targets) else TILE
        out = np.empty((stop - start, n), dtype=np.float32)
        for left in range(0, n, tile):
            right = min(left + tile, n)
            columns = vectors(self.targets, left, right)
            np.matmul(rows, columns.T, out=out[:, left:right])
        if self.normalize:
            out *= self._reciprocal_lengths
        return out

    @cached_property
    def _reciprocal_lengths(self) -> FloatArray:
        """One over the length of every target, found once."""
        n = self.targets.shape[0]
        parts = [lengths(vectors(self.targets, left, min(left + TILE, n))) for left in range(0, n, TILE)]
        return (1.0 / np.concatenate(parts)).astype(np.float32)


def vectors(rows: Sliceable, start: int, stop: int, *, normalize: bool = False) -> FloatArray:
    """The rows start..stop as float32, of unit length when asked."""
    block = np.asarray(rows[start:stop], dtype=np.float32)
    if not normalize:
        return block
    unit: FloatArray = (block / lengths(block)[:, None]).astype(np.float32)
    return unit


def lengths(block: FloatArray) -> FloatArray:
    """The length of each row, one for a row of zeros; in float64 where float32 squares would lose it."""
    length: FloatArray = np.linalg.norm(block, axis=1)
    if not (length.min(initial=1) > SHORTEST and length.max(initial=1) < LONGEST):
        length = np.linalg.norm(block.astype(np.float64), axis=1)
    return np.where(length > 0, length, 1)


def _ready(rows: Sliceable) -> bool:
    """Whether the rows are a float32 array in memory, which needs no conversion."""
    return type(rows) is np.ndarray and rows.dtype == np.float32
