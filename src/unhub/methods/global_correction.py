"""Globally corrected retrieval (GC)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unhub.foundation.types import FloatArray
from unhub.methods.interface import CorrectRows, Method
from unhub.scores import Banks, Budget, ScoreSource

SLAB = 1024
"""bank rows sorted together: enough that looking up queries costs more than the loop over targets"""

MOST_KEPT = 1 << 29
"""bytes of sorted scores kept between blocks of queries"""


@dataclass(frozen=True)
class GC(Method):
    """Rank targets by the query's place among the bank in each target's own list, then by score   [dinu:15]

    place_ij = 1 + #{u: s_uj > s_ij}. The corrected score is -place_ij plus the score squeezed into (0, 1), so that
    one sort ranks by place first and by score second.
    """

    name: ClassVar[str] = "gc"
    title: ClassVar[str] = "GC"
    description: ClassVar[str] = "Ranks targets by the place of the query in each target's own list."
    live: ClassVar[bool] = False

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows of -place, ties broken by score."""
        lists = SortedColumns(banks.queries, Budget(MOST_KEPT))
        return lambda scores: tie_break(scores) - 1.0 - lists.count_ahead(scores)


@dataclass(frozen=True)
class SortedColumns:
    """Every target's bank scores in order, a slab of bank rows at a time; slabs are kept while the budget lasts."""

    bank: ScoreSource
    budget: Budget
    _kept: dict[int, FloatArray] = field(default_factory=dict, repr=False)

    def count_ahead(self, scores: FloatArray) -> FloatArray:
        """#{u: s_uj > s_ij} of every query i and target j, float64."""
        ahead = np.zeros(scores.shape)
        rows = self.bank.shape[0]
        height = -(-SLAB // self.bank.block_rows) * self.bank.block_rows
        for start in range(0, rows, height):
            for j, ordered in enumerate(self._slab(start, min(start + height, rows))):
                ahead[:, j] += ordered.size - np.searchsorted(ordered, scores[:, j], side="right")
        return ahead

    def _slab(self, start: int, stop: int) -> FloatArray:
        """The scores of the rows start..stop, sorted within each column: (gallery, rows)."""
        if start in self._kept:
            return self._kept[start]
        step = self.bank.block_rows
        parts = [self.bank.read(at, min(at + step, stop)).T for at in range(start, stop, step)]
        slab = np.sort(np.concatenate(parts, axis=1), axis=1)
        if self.budget.take(slab.nbytes):
            self._kept[start] = slab
        return slab


def tie_break(scores: FloatArray) -> FloatArray:
    """Each row's scores mapped in order into [0, 1), by their place in the row, so that no two places collide."""
    n = scores.shape[1]
    ordered = np.sort(scores, axis=1)
    places = np.stack([np.searchsorted(row, values) for row, values in zip(ordered, scores, strict=True)])
    squeezed: FloatArray = places / n
    return squeezed
