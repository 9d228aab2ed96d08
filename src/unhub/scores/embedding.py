"""Scores that are inner products of embeddings, computed block by block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unhub.core.arrays import concatenate, is_tensor, like, namespace, widen
from unhub.foundation.types import FloatArray, Sliceable

TILE_VALUES = 1 << 21
"""values of the gallery converted to float32 at once, unless it is a float32 array in memory"""

QUERY_VALUES, WIDE = 1 << 20, 8
"""values of queries converted to float32 at once, unless a row of scores is so many times as wide as a query"""

SHORTEST, LONGEST = 1e-15, 1e15
"""lengths between which squares keep their digits in float32"""


@dataclass(frozen=True)
class EmbeddingScores:
    """Scores s_uj = q_u . t_j of bank queries and targets; the full matrix is never formed.

    queries: (bank, dim), targets: (gallery, dim), arrays or tensors; scores are computed where the targets are.
    normalize: divide every row by its length.
    """

    queries: Sliceable
    targets: Sliceable
    block_rows: int
    normalize: bool = False
    tall_rows: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""
        return self.queries.shape[0], self.targets.shape[0]

    @property
    def tall_block_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""
        return self.tall_rows or self.block_rows

    @property
    def array_like(self) -> Any:
        """an array of the library, and on the device, that the scores come in"""
        return self.targets if is_tensor(self.targets) else np.empty(0)

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """One matrix product for the rows start..stop, float32."""
        near = not is_tensor(self.targets)
        scores: FloatArray = self._in_memory(start, stop, out) if near else self._on_device(start, stop)
        if self.normalize:
            scores *= self._reciprocal_lengths
        return scores

    def _in_memory(self, start: int, stop: int, out: FloatArray | None) -> FloatArray:
        scores = np.empty((stop - start, self.shape[1]), dtype=np.float32) if out is None else out
        height = self._queries_at_once(stop - start)
        for low in range(start, stop, height):
            high = min(low + height, stop)
            rows = vectors(self.queries, low, high, normalize=self.normalize)
            for left, right in self._tiles():
                tile = vectors(self.targets, left, right).T
                np.matmul(rows, tile, out=scores[low - start : high - start, left:right])
        return scores

    def _queries_at_once(self, rows: int) -> int:
        """All of a block, unless their copies in float32 would take more than a small part of its scores."""
        gallery, dim = self.targets.shape
        as_they_are = is_ready(self.queries) and not self.normalize
        return max(1, rows if as_they_are or gallery >= WIDE * dim else QUERY_VALUES // max(1, dim))

    def _on_device(self, start: int, stop: int) -> Any:
        targets: Any = self.targets
        rows = like(vectors(self.queries, start, stop, normalize=self.normalize), targets)
        xp = namespace(targets)
        if targets.dtype == xp.float32:
            return rows @ targets.T
        return concatenate([rows @ vectors(self.targets, left, right).T for left, right in self._tiles()], axis=1)

    def _tiles(self) -> list[tuple[int, int]]:
        """Pieces of the gallery: one if it can be used as it is."""
        n, dim = self.targets.shape
        height = n if is_ready(self.targets) else max(1, TILE_VALUES // max(1, dim))
        return [(left, min(left + height, n)) for left in range(0, n, height)]

    @cached_property
    def _reciprocal_lengths(self) -> Any:
        """One over the length of every target; computed once."""
        n, dim = self.targets.shape
        height = max(1, TILE_VALUES // max(1, dim))
        parts = [lengths(vectors(self.targets, left, min(left + height, n))) for left in range(0, n, height)]
        xp = namespace(parts[0])
        return xp.astype(1.0 / concatenate(parts), xp.float32)


def vectors(rows: Sliceable, start: int, stop: int, *, normalize: bool = False) -> Any:
    """The rows start..stop as float32, scaled to unit length with ``normalize``; a tensor stays one."""
    block: Any = rows[start:stop]
    if is_tensor(block):
        xp = namespace(block)
        block = xp.astype(block, xp.float32)
        return block / xp.astype(lengths(block), xp.float32)[:, None] if normalize else block
    block = np.asarray(block, dtype=np.float32)
    return (block / lengths(block)[:, None]).astype(np.float32, copy=False) if normalize else block


def lengths(block: Any) -> Any:
    """The length of each row, one for a row of zeros; in float64 where float32 squares would lose it."""
    if is_tensor(block):
        xp = namespace(block)
        square = xp.sum(widen(block) ** 2, axis=1)
        return xp.where(square > 0, xp.sqrt(square), xp.ones_like(square))
    with np.errstate(over="ignore"):
        length: FloatArray = np.linalg.norm(block, axis=1)
    if not (length.min(initial=1) > SHORTEST and length.max(initial=1) < LONGEST):
        length = np.linalg.norm(block.astype(np.float64), axis=1)
    return np.where(length > 0, length, 1)


def is_ready(rows: Any) -> bool:
    """Whether the rows are a float32 array in memory, so that none is converted."""
    return isinstance(rows, np.ndarray) and rows.dtype == np.float32
