"""Nearest-neighbour normalisation (NNN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.banks import Banks, column_top
from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import checked, count, not_negative
from unhub.foundation.types import FloatArray


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
        checked(self, k=count, alpha=not_negative, strength=not_negative)

    def estimate(self, banks: Banks) -> Bias:
        """The bias, from one read of the bank."""
        return closed_form(self.columns(banks, None))

    def columns(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-alpha * mean of the k largest bank scores of any targets; k is clipped to the bank."""
        return -self.alpha * top_mean(banks, self.k)


def top_mean(banks: Banks, k: int) -> FloatArray:
    """Mean of the k largest bank scores of each target, weighted by the query weights: (gallery,) float64."""
    scores, weights = column_top(banks.queries, k, banks.query_weight)
    mean: FloatArray = (scores * weights).sum(axis=0) / weights.sum(axis=0)
    return mean
