"""Mutual proximity, with independent Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.banks import Banks, column_moments
from unhub.foundation.types import FloatArray
from unhub.methods.distances import at_least_smallest
from unhub.methods.protocol import CorrectRows


@dataclass(frozen=True)
class MutualProximity:
    """log P(D_i > d_ij) + log P(D_j > d_ij), D_i and D_j normal   [schnitzer:12]

    D_i: distances of query i to the gallery; D_j: distances of target j to the bank; d = 1 - s. The logarithm keeps
    far targets apart where the probabilities themselves underflow.
    """

    name: ClassVar[str] = "mutual_proximity"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset()

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows of log mutual proximity, at most zero."""
        from scipy.special import log_ndtr

        mean_target, variance = column_moments(banks.queries)
        std_target = at_least_smallest(np.sqrt(variance))

        def correct(scores: FloatArray) -> FloatArray:
            s = scores.astype(np.float64)
            finite = np.isfinite(s)
            mean_query = s.mean(axis=1, keepdims=True, where=finite)
            std_query = at_least_smallest(s.std(axis=1, keepdims=True, where=finite))
            proximity: FloatArray = log_ndtr((s - mean_query) / std_query)
            proximity += log_ndtr((s - mean_target) / std_target)
            return proximity

        return correct
