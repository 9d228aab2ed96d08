"""Nearest-neighbour normalisation (NNN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.banks import Banks, column_top, columns
from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import checked, count, not_negative, strength_number
from unhub.foundation.types import FloatArray

BYTES, SLACK = 128, 64
"""bytes for each of the k scores that a column holds, and for some more, in all copies: galleries that would need more
than the memory are done a part at a time"""


@dataclass(frozen=True)
class NNN:
    """bias_j = -alpha * mean of the k largest s_uj over the bank   [chowdhury:24]"""

    name: ClassVar[str] = "nnn"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset({"query_weight"})

    k: int = 128
    alpha: float = 0.75
    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, k=count, alpha=not_negative, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """The bias, from one read of the bank."""
        return closed_form(self.columns(banks, None))

    def columns(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-alpha * mean of the k largest bank scores of any targets; k is clipped to the bank."""
        return -self.alpha * top_mean(banks, self.k)


def top_mean(banks: Banks, k: int) -> FloatArray:
    """Mean of the k largest bank scores of each target, weighted by the query weights: (gallery,) float64."""
    gallery = banks.queries.shape[1]
    width = max(1, banks.memory // (BYTES * (k + SLACK)))
    means = np.empty(gallery)
    for left in range(0, gallery, width):
        right = min(left + width, gallery)
        scores, weights = column_top(columns(banks.queries, left, right), k, banks.query_weight)
        means[left:right] = np.einsum("kj,kj->j", scores, weights) / weights.sum(axis=0)
    return means
