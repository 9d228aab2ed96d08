"""Globally corrected retrieval (GC)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.banks import Bank, Banks, blocks
from unhub.foundation.types import FloatArray
from unhub.methods.protocol import CorrectRows


@dataclass(frozen=True)
class GC:
    """Rank targets by the query's place among the bank in each target's own list, then by score   [dinu:15]

    place_ij = 1 + #{u: s_uj > s_ij}. The corrected score is -place_ij plus the score squeezed into (0, 1), so that
    one sort ranks by place first and by score second.
    """

    name: ClassVar[str] = "gc"
    needs: ClassVar[frozenset[str]] = frozenset()

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows of -place, ties broken by score."""

        def correct(scores: FloatArray) -> FloatArray:
            ahead = count_ahead(banks.queries, scores)
            return tie_break(scores) - 1.0 - ahead

        return correct


def count_ahead(bank: Bank, scores: FloatArray) -> FloatArray:
    """#{u: s_uj > s_ij} of every query i and target j, float64, one read of the bank."""
    ahead = np.zeros(scores.shape)
    for _, block in blocks(bank):
        ordered = np.sort(np.ascontiguousarray(block.T), axis=1)
        for j, column in enumerate(ordered):
            ahead[:, j] += column.size - np.searchsorted(column, scores[:, j], side="right")
    return ahead


def tie_break(scores: FloatArray) -> FloatArray:
    """Each row's scores mapped in order into [0, 1), by their place in the row, so that no two places collide."""
    n = scores.shape[1]
    ordered = np.sort(scores, axis=1)
    places = np.stack([np.searchsorted(row, values) for row, values in zip(ordered, scores, strict=True)])
    squeezed: FloatArray = places / n
    return squeezed
