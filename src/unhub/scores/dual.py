"""tau log sum_j exp((s_uj + l g_j) / tau) of every query u at several strengths l, from one read of the scores.

The exponentials of the scores are computed once: exp((s + l g) / tau) is a product of one factor for the score and one
for the strength, so that all strengths together are one matrix product. Where a factor could leave float32, each
strength is summed by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unhub.core.arrays import host
from unhub.core.execution import Execution
from unhub.core.logsumexp import row_logsumexp
from unhub.core.plan import LARGEST_BLOCK
from unhub.foundation.types import FloatArray
from unhub.scores.folds import ONCE, Fold, compiles, fold
from unhub.scores.source import ScoreSource

WIDEST = 80.0
"""range of l g over tau up to which the largest product of both factors stays in float32"""


@dataclass(frozen=True)
class RowLogSumExps(Fold):
    """tau log sum_j exp((s_uj + l g_j) / tau): (query, strengths)."""

    tau: float
    g: FloatArray
    strengths: FloatArray

    def quick(self, source: ScoreSource, execution: Execution) -> bool:
        """The scores of tall blocks are computed faster; the sums go over them in pieces."""
        return compiles(source, execution)

    def zero(self, shape: tuple[int, int], kernels: Any, threads: int) -> list[tuple[int, FloatArray]]:
        """No rows yet."""
        return []

    def add(self, state: list[tuple[int, FloatArray]], first: int, scores: FloatArray) -> Any:
        """The sums of a block."""
        rows = max(1, LARGEST_BLOCK // scores.shape[1])
        pieces = [self._sums(host(scores[start : start + rows])) for start in range(0, scores.shape[0], rows)]
        return [*state, (first, np.concatenate(pieces))]

    def merge(self, left: Any, right: Any) -> Any:
        """The rows of both."""
        return left + right

    def finish(self, state: Any) -> FloatArray:
        """In the order of the rows."""
        return np.concatenate([values for _, values in sorted(state, key=lambda part: part[0])])

    def _sums(self, scores: FloatArray) -> FloatArray:
        if np.ptp(self.g) * np.abs(self.strengths).max(initial=0.0) > WIDEST * self.tau:
            return np.stack([row_logsumexp(scores, self.tau, each * self.g) for each in self.strengths], axis=1)
        factors, ahead = self._factors
        top = scores.max(axis=1, keepdims=True)
        x = (scores - top).astype(np.float32, copy=False)
        x *= np.float32(1 / self.tau)
        sums = np.exp(x, out=x) @ factors
        values: FloatArray = self.tau * np.log(sums.astype(np.float64)) + top.astype(np.float64) + ahead
        return values

    @cached_property
    def _factors(self) -> tuple[FloatArray, FloatArray]:
        """exp((l g_j - ahead_l) / tau): (gallery, strengths) float32, and ahead, the largest l g_j: (strengths,)."""
        ahead = np.maximum(self.strengths * self.g.max(), self.strengths * self.g.min())
        exponents = np.multiply.outer(self.g, self.strengths) - ahead
        factors = np.exp(np.divide(exponents, self.tau, out=exponents)).astype(np.float32)
        return factors, ahead


def row_logsumexps(
    source: ScoreSource, tau: float, g: FloatArray, strengths: FloatArray, execution: Execution = ONCE
) -> FloatArray:
    """tau log sum_j exp((s_uj + l g_j) / tau) of every row u and strength l: (rows, strengths) float64."""
    sums: FloatArray = fold(source, RowLogSumExps(tau, g, strengths), execution)
    return sums
