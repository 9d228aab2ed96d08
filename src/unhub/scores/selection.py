"""Some bank rows of a score source: those that a bias is fitted on, and those that it is judged by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.core.arrays import concatenate, is_numpy, is_tensor, like, namespace
from unhub.foundation.types import FloatArray, IntArray, Sliceable
from unhub.scores.embedding import EmbeddingScores
from unhub.scores.source import Banks, MatrixScores, ScoreSource
from unhub.scores.views import CachedScores, CappedScores, DelegatingSource, JoinedScores, MaskedScores, ProgressSource

COPIED = 4096
"""rows of an array below which a copy costs nothing; more are taken in long runs of neighbours"""


@dataclass(frozen=True)
class SelectedRows:
    """Some rows of a matrix, read when they are needed."""

    data: Sliceable
    order: IntArray

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns)"""
        return len(self.order), self.data.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """what is stored"""
        return self.data.dtype

    def __getitem__(self, rows: slice) -> Any:
        return concatenate([self.data[low:high] for low, high in runs(self.order[rows])] or [self.data[0:0]])


@dataclass(frozen=True)
class SelectedScores(DelegatingSource):
    """Some rows of another source; neighbours are read together."""

    source: ScoreSource
    order: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, gallery)"""
        return len(self.order), self.source.shape[1]

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The scores of these rows."""
        parts = [self.source.read(low, high) for low, high in runs(self.order[start:stop])]
        joined: FloatArray = concatenate(parts)
        return joined


def select(source: ScoreSource, order: IntArray) -> ScoreSource:
    """These rows of a source, in this order; of embeddings no other score is computed."""
    if isinstance(source, EmbeddingScores):
        return replace(source, queries=_rows(source.queries, order))
    if isinstance(source, MatrixScores):
        return replace(source, scores=_rows(source.scores, order))
    if isinstance(source, CachedScores):
        whole = source.in_memory
        return select(source.source, order) if whole is None else SelectedScores(MatrixScores(whole, 1024), order)
    if isinstance(source, ProgressSource):
        return select(source.source, order)
    if isinstance(source, CappedScores):
        return CappedScores(select(source.source, order))
    if isinstance(source, MaskedScores):
        return MaskedScores(select(source.source, order), items=source.items_of(order))
    if isinstance(source, JoinedScores):
        return JoinedScores(select(source.left, order), select(source.right, order))
    return SelectedScores(source, order)


def select_banks(banks: Banks, order: IntArray) -> Banks:
    """The banks with these bank queries alone; nothing is held out of them, and nobody observes."""
    return replace(
        banks,
        queries=select(banks.queries, order),
        cross=None if banks.cross is None else select(banks.cross, order),
        query_weight=None if banks.query_weight is None else banks.query_weight[order],
        observer=None,
        held_out=(),
    )


def without(banks: Banks, rows: IntArray) -> Banks:
    """The banks without these bank queries."""
    kept = np.ones(banks.queries.shape[0], dtype=bool)
    kept[rows] = False
    return select_banks(banks, np.flatnonzero(kept))


def in_memory(source: ScoreSource) -> ScoreSource:
    """The scores of embeddings that are arrays, as a matrix; other sources as they are."""
    inner = source.source if isinstance(source, ProgressSource) else source
    if not isinstance(inner, EmbeddingScores) or not is_numpy(inner.array_like):
        return source
    scores = np.empty(source.shape, dtype=np.float32)
    step = min(max(1, len(scores) // 4), inner.tall_block_rows)
    for start in range(0, len(scores), step):
        place = scores[start : start + step]
        block = source.read(start, start + len(place), place)
        if block is not place:
            place[...] = block
    return MatrixScores(scores, inner.block_rows, inner.tall_block_rows)


def runs(order: IntArray) -> list[tuple[int, int]]:
    """First and last row, exclusive, of each run of neighbours.

    >>> runs(np.array([3, 4, 5, 9, 1, 2]))
    [(3, 6), (9, 10), (1, 3)]
    """
    parts = np.split(order, np.flatnonzero(np.diff(order) != 1) + 1) if len(order) else []
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]


def _rows(data: Sliceable, order: IntArray) -> Sliceable:
    """Few rows of an array as a copy, also those of a tensor; any others are read when they are needed."""
    if is_numpy(data) and len(order) < COPIED:
        return data[order]  # type: ignore[index]
    if is_tensor(data):
        chosen: Sliceable = namespace(data).take(data, like(order, data), axis=0)
        return chosen
    return SelectedRows(data, order)
