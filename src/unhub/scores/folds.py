"""Folds: one read of a score source, block after block, into one number (or a few) per target.

A fold is a value with ``zero``, ``add``, ``merge`` and ``finish``. ``merge`` is associative, so blocks and shards may
come in any size: ``fold`` runs it over the shards of an executor and merges what they give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unhub.core.arrays import host, is_numpy, like, namespace, wide
from unhub.core.execution import Execution, compiled
from unhub.core.logsumexp import LARGE_TAU, ColumnSums
from unhub.core.topk import top_k
from unhub.foundation.types import BoolArray, FloatArray
from unhub.scores.column_top import ColumnTop
from unhub.scores.parts import PartedScores
from unhub.scores.source import ScoreSource, blocks, tall_blocks
from unhub.scores.views import rows

ONCE = Execution()


class Fold(Protocol):
    """A sum, in a wide sense, over blocks of rows. ``add`` and ``merge`` may change the states they are given."""

    def quick(self, source: ScoreSource, execution: Execution) -> bool:
        """Whether compiled kernels compute it, from tall blocks; no unless the fold has one."""
        return False

    def zero(self, shape: tuple[int, int], kernels: Any, threads: int) -> Any:
        """The state before any row of a shard of this shape."""

    def add(self, state: Any, first: int, scores: FloatArray) -> Any:
        """The state with a block of rows, of which ``first`` is the first."""

    def merge(self, left: Any, right: Any) -> Any:
        """The state of both; asks the left one unless the fold knows better."""
        return left.merge(right)

    def finish(self, state: Any) -> Any:
        """The result; the state itself unless the fold knows better."""
        return state


@dataclass
class FoldShard:
    """Some rows of a source, for one fold."""

    source: ScoreSource
    first: int
    by: Fold
    quick: bool
    execution: Execution

    def run(self) -> Any:
        """The state of these rows."""
        kernels: Any = compiled() if self.quick else None
        state = self.by.zero(self.source.shape, kernels, self.execution.workers)
        for start, scores in tall_blocks(self.source, self.execution) if self.quick else blocks(self.source):
            state = self.by.add(state, self.first + start, scores)
        return state


def fold(source: ScoreSource, by: Fold, execution: Execution = ONCE) -> Any:
    """What a fold gives over all rows of a source, from as many shards as the executor has."""
    if isinstance(source, PartedScores):
        quick = by.quick(source.source, execution)
        return by.finish(source.state(by, lambda part: _state(part, by, quick, execution), by.merge))
    return by.finish(_state(source, by, by.quick(source, execution), execution))


def _state(source: ScoreSource, by: Fold, quick: bool, execution: Execution) -> Any:
    """The state of a fold over all rows of a source."""
    if execution.executor is None:  # one shard, here
        return FoldShard(source, 0, by, quick, execution).run()
    ranges = execution.shards(source.shape[0])
    each = execution.part(len(ranges))
    shards = [FoldShard(rows(source, *ends), ends[0], by, quick, each) for ends in ranges]
    workers = execution.start(shards)
    try:
        return workers.reduce(by.merge, "run")
    finally:
        workers.close()


def compiles(source: ScoreSource, execution: Execution) -> bool:
    """Whether a sum over this source is worth the compiled kernels."""
    return is_numpy(source.array_like) and execution.kernels(source.shape) is not None


@dataclass(frozen=True)
class ColumnLogSumExp(Fold):
    """tau * log sum_u exp((s_uj + f_u) / tau) of every target j: (gallery,)."""

    tau: float
    potential: Any = None
    """f: (bank,), in the library of the scores"""

    def quick(self, source: ScoreSource, execution: Execution) -> bool:
        """With a large tau, float32 sums would be too coarse."""
        return compiles(source, execution) and self.tau <= LARGE_TAU * _largest(source)

    def zero(self, shape: tuple[int, int], kernels: Any, threads: int) -> ColumnSums:
        """No terms yet."""
        return ColumnSums(shape[1], self.tau, kernels=kernels, threads=threads)

    def add(self, state: ColumnSums, first: int, scores: FloatArray) -> ColumnSums:
        """Adds the terms of some rows."""
        state.add(scores, None if self.potential is None else self.potential[first : first + scores.shape[0]])
        return state

    def finish(self, state: ColumnSums) -> FloatArray:
        """(gallery,) float64"""
        return host(state.total()).astype(np.float64)


def _largest(source: ScoreSource) -> float:
    """The largest score of the first rows, by size."""
    scores = np.abs(source.read(0, min(8, source.shape[0])))
    return float(scores.max(initial=0.0, where=np.isfinite(scores)))


@dataclass(frozen=True)
class ColumnMoments(Fold):
    """Mass, mean and sum of squared deviations of every target's finite scores: (gallery,) each."""

    weight: FloatArray | None = None

    def zero(self, shape: tuple[int, int], kernels: Any, threads: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """No rows yet."""
        return np.zeros(shape[1]), np.zeros(shape[1]), np.zeros(shape[1])

    def add(self, state: Any, first: int, scores: FloatArray) -> Any:
        """The moments of a block, merged."""
        scores = host(scores)
        w = np.ones(scores.shape[0]) if self.weight is None else self.weight[first : first + scores.shape[0]]
        finite = np.isfinite(scores)
        s = np.where(finite, scores, 0).astype(np.float64)
        mass = w @ finite
        mean = np.divide(w @ s, mass, out=np.zeros(s.shape[1]), where=mass > 0)
        return self.merge(state, (mass, mean, w @ np.where(finite, (s - mean) ** 2, 0)))

    def merge(self, left: Any, right: Any) -> Any:
        """Of both together, by the rule of Chan, Golub and LeVeque."""
        both = np.maximum(left[0] + right[0], np.finfo(float).tiny)
        gap = right[1] - left[1]
        mean = left[1] + gap * right[0] / both
        return left[0] + right[0], mean, left[2] + (right[2] + gap**2 * left[0] * right[0] / both)

    def finish(self, state: Any) -> tuple[FloatArray, FloatArray]:
        """Mean and population variance."""
        mass, mean, squares = state
        return mean, squares / np.maximum(mass, np.finfo(float).tiny)


@dataclass(frozen=True)
class ColumnTotals(Fold):
    """sum_u w_u s_uj of every target: (gallery,) float64."""

    weight: FloatArray | None = None

    def quick(self, source: ScoreSource, execution: Execution) -> bool:
        """Products with a vector like tall blocks."""
        return compiles(source, execution)

    def zero(self, shape: tuple[int, int], kernels: Any, threads: int) -> Any:
        """Nothing yet."""
        return 0.0

    def add(self, state: Any, first: int, scores: FloatArray) -> Any:
        """Adds a block."""
        xp, part = namespace(scores), slice(first, first + scores.shape[0])
        w = xp.ones_like(scores[:, 0]) if self.weight is None else like(self.weight[part], scores, scores.dtype)
        total: Any = w @ scores
        return state + (total.astype(np.float64) if is_numpy(scores) else xp.astype(total, wide(w)))

    def merge(self, left: Any, right: Any) -> Any:
        """The sum."""
        return left + right

    def finish(self, state: Any) -> FloatArray:
        """In the processor's memory."""
        return host(state)


@dataclass(frozen=True)
class ColumnBest(Fold):
    """The k largest scores of every target and the weights of their rows: (k, gallery) twice, best first."""

    k: int
    weight: FloatArray | None = None

    def quick(self, source: ScoreSource, execution: Execution) -> bool:
        """Kernels gather scores without weights."""
        return self.weight is None and compiles(source, execution)

    def zero(self, shape: tuple[int, int], kernels: Any, threads: int) -> ColumnTop:
        """No scores yet."""
        return ColumnTop(shape[1], self.k, kernels=kernels, threads=threads)

    def add(self, state: ColumnTop, first: int, scores: FloatArray) -> ColumnTop:
        """Takes in a block."""
        state.add(host(scores), None if self.weight is None else self.weight[first : first + scores.shape[0]])
        return state

    def finish(self, state: ColumnTop) -> tuple[FloatArray, FloatArray]:
        """Scores and weights."""
        return state.best()


@dataclass(frozen=True)
class Activation(Fold):
    """Whether a target is among the k best of any row: (gallery,)   [bogolin:22]."""

    k: int

    def zero(self, shape: tuple[int, int], kernels: Any, threads: int) -> BoolArray:
        """No target yet."""
        return np.zeros(shape[1], dtype=bool)

    def add(self, state: BoolArray, first: int, scores: FloatArray) -> BoolArray:
        """Marks the best of these rows."""
        state[top_k(scores, self.k)[1].ravel()] = True
        return state

    def merge(self, left: BoolArray, right: BoolArray) -> BoolArray:
        """Either."""
        return left | right


def column_logsumexp(
    source: ScoreSource, tau: float, row_potential: FloatArray | None = None, execution: Execution = ONCE
) -> FloatArray:
    """tau * log sum_u exp((s_uj + f_u) / tau) of every target j: (gallery,) float64."""
    level = 0.0 if row_potential is None else float(row_potential.mean())
    potential = None if row_potential is None else like(row_potential - level, source.array_like)
    sums: FloatArray = fold(source, ColumnLogSumExp(tau, potential), execution)
    return sums + level


def column_moments(
    source: ScoreSource, weight: FloatArray | None = None, execution: Execution = ONCE
) -> tuple[FloatArray, FloatArray]:
    """Mean and population variance of every target's finite bank scores: (gallery,) twice, float64."""
    moments: tuple[FloatArray, FloatArray] = fold(source, ColumnMoments(weight), execution)
    return moments


def column_means(source: ScoreSource, weight: FloatArray | None = None, execution: Execution = ONCE) -> FloatArray:
    """Mean of every target's finite bank scores, weighted when weights are given: (gallery,) float64."""
    total: FloatArray = fold(source, ColumnTotals(weight), execution)
    means: FloatArray = total / (source.shape[0] if weight is None else weight.sum())
    return means if np.isfinite(means).all() else column_moments(source, weight, execution)[0]


def column_top(
    source: ScoreSource, k: int, weight: FloatArray | None = None, execution: Execution = ONCE
) -> tuple[FloatArray, FloatArray]:
    """The k largest bank scores of every target and the weights of their rows: (k, gallery) twice, best first.

    k is clipped to the scores that every target has; masked ones, minus infinity, do not count.
    """
    best: tuple[FloatArray, FloatArray] = fold(source, ColumnBest(min(k, source.shape[0]), weight), execution)
    return best


def activation_set(source: ScoreSource, k: int, execution: Execution = ONCE) -> BoolArray:
    """Whether a target is among the k best of any bank row: (gallery,)   [bogolin:22]."""
    active: BoolArray = fold(source, Activation(k), execution)
    return active
