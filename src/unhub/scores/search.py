"""Exact corrected search over blocks; the full score matrix is never formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.core.arrays import concatenate, is_numpy, like, namespace
from unhub.core.execution import Execution, compiled, suits
from unhub.core.threads import parts_for, share
from unhub.core.topk import merge_top, top_k
from unhub.foundation.types import FloatArray
from unhub.scores.folds import ONCE, Fold, fold
from unhub.scores.source import ScoreSource

FEW = 64
"""results for each query up to which inserting them one by one is faster"""

Best = dict[int, tuple[Any, Any]]
"""values and columns of the best targets, by the first row of each block of queries"""


def search(source: ScoreSource, bias: FloatArray, k: int, execution: Execution = ONCE) -> tuple[Any, Any]:
    """The k largest s_ij + bias_j of each row and their columns: (query, k) twice, ties to the lower column.

    Tensors are searched where they are and give tensors.
    """
    if 0 in source.shape:
        nothing = np.empty((source.shape[0], min(k, source.shape[1])), dtype=np.float32)
        return like(nothing, source.array_like), like(nothing.astype(np.int64), source.array_like)
    best: tuple[Any, Any] = fold(source, TopTargets(bias, min(k, source.shape[1])), execution)
    return best


@dataclass(frozen=True)
class TopTargets(Fold):
    """The k largest s_ij + bias_j of each row; parts of the queries and parts of the gallery merge alike."""

    bias: FloatArray
    k: int
    offset: int = 0
    """number of the first column, where the source is a part of a gallery"""

    def quick(self, source: ScoreSource, execution: Execution) -> bool:
        """Inserting is fast for few results."""
        near = is_numpy(source.array_like) and self.k <= FEW
        return near and execution.search_kernels(source.shape) is not None

    def zero(self, shape: tuple[int, int], kernels: Any, threads: int) -> tuple[Best, int, bool, int]:
        """No rows yet, and how they will be searched."""
        return {}, shape[0], kernels is not None, threads

    def add(self, state: Any, first: int, scores: FloatArray) -> Any:
        """Adds the best of these rows."""
        best, rows, quick, threads = state
        if not best:  # memory for all rows at once: small pieces between large ones would fragment it
            best[first] = _room(scores, (rows, self.k))
        (start, (values, columns)), *_ = best.items()
        place = slice(first - start, first - start + scores.shape[0])
        if not is_numpy(scores):
            self._on_device(scores, values[place], columns[place])
        elif quick and suits(scores):
            self._compiled(scores, values[place], columns[place], threads)
        else:
            values[place], columns[place] = top_k(scores + self.bias.astype(scores.dtype, copy=False), self.k)
        if self.offset:
            columns[place] += self.offset
        return state

    def merge(self, left: Any, right: Any) -> Any:
        """Other rows are added; the same rows with other columns compete."""
        best = dict(left[0])
        for first, other in right[0].items():
            values, columns = best.get(first, (None, None))
            best[first] = other if columns is None else merge_top(values, columns, other[0], other[1], self.k)
        return best, *left[1:]

    def finish(self, state: Any) -> tuple[Any, Any]:
        """All rows in order, float32."""
        parts = [state[0][first] for first in sorted(state[0])]
        values, columns = (concatenate(part) for part in zip(*parts, strict=True))
        return values, columns

    def _compiled(self, scores: FloatArray, values: Any, columns: Any, threads: int) -> None:
        kernels: Any = compiled()
        bias = self.bias.astype(np.float32)

        def work(part: int, start: int, stop: int) -> None:
            kernels.top_rows(scores[start:stop], bias, values[start:stop], columns[start:stop])

        share(scores.shape[0], work, parts=parts_for(1, 1 << 20, threads), threads=threads)

    def _on_device(self, scores: Any, values: Any, columns: Any) -> None:
        """Sorted by score, stably, so that equal ones stay in the order of their columns."""
        xp = namespace(scores)
        corrected = scores + like(self.bias, scores, xp.float32)
        best = xp.argsort(corrected, axis=1, descending=True, stable=True)[:, : self.k]
        columns[...] = best
        values[...] = xp.take_along_axis(corrected, best, axis=1)


def _room(scores: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Memory for values and columns, where the scores are."""
    xp: Any = namespace(scores)
    how = {} if is_numpy(scores) else {"device": scores.device}
    return xp.empty(shape, dtype=xp.float32, **how), xp.empty(shape, dtype=xp.int64, **how)
