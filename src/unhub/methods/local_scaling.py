"""Scores made relative to the neighbourhood of both sides: local scaling, NICDM, mutual proximity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.core.parameters import count, validate
from unhub.core.topk import top_k
from unhub.foundation.types import FloatArray
from unhub.methods.interface import CorrectRows, Method
from unhub.scores import Banks, column_moments, column_top

SMALLEST = 1e-12
"""distances and deviations below this are rounding of identical items"""


@dataclass(frozen=True)
class LocalScaling(Method):
    """exp(-d_ij^2 / (sigma_i sigma_j)), d = 1 - s, sigma the distance to the k-th neighbour   [zelnik:04]

    A target's neighbours are bank queries, a query's are targets.
    """

    name: ClassVar[str] = "local_scaling"
    title: ClassVar[str] = "local scaling"
    description: ClassVar[str] = "Distances divided by the distance to the k-th neighbour of both sides."

    k: int = 10

    def __post_init__(self) -> None:
        validate(self, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows of scaled similarities in (0, 1]."""
        sigma_target = at_least_smallest(target_neighbours(banks, self.k)[-1])

        def correct(scores: FloatArray) -> FloatArray:
            sigma_query = at_least_smallest(query_neighbours(scores, self.k)[:, -1:])
            scaled: FloatArray = np.exp(-((1.0 - scores) ** 2) / (sigma_query * sigma_target))
            return scaled

        return correct


@dataclass(frozen=True)
class NICDM(Method):
    """1 - d_ij / sqrt(mu_i mu_j), d = 1 - s, mu the mean distance to the k nearest   [schnitzer:12]

    A target's neighbours are bank queries, a query's are targets.
    """

    name: ClassVar[str] = "nicdm"
    title: ClassVar[str] = "NICDM"
    description: ClassVar[str] = "Distances divided by the mean distance to the k nearest of both sides."

    k: int = 10

    def __post_init__(self) -> None:
        validate(self, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows of one minus the scaled distance."""
        mu_target = at_least_smallest(target_neighbours(banks, self.k).mean(axis=0))

        def correct(scores: FloatArray) -> FloatArray:
            mu_query = at_least_smallest(query_neighbours(scores, self.k).mean(axis=1, keepdims=True))
            corrected: FloatArray = 1.0 - (1.0 - scores) / np.sqrt(mu_query * mu_target)
            return corrected

        return correct


@dataclass(frozen=True)
class MutualProximity(Method):
    """log P(D_i > d_ij) + log P(D_j > d_ij), D_i and D_j normal   [schnitzer:12]

    D_i: distances of query i to the gallery; D_j: distances of target j to the bank; d = 1 - s. The logarithm keeps
    far targets apart where the probabilities themselves underflow.
    """

    name: ClassVar[str] = "mutual_proximity"
    title: ClassVar[str] = "mutual proximity"
    description: ClassVar[str] = "How probably query and target are each other's near neighbours, by two Gaussians."
    live: ClassVar[bool] = False

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows of log mutual proximity, at most zero."""
        from scipy.special import log_ndtr

        mean_target, variance = column_moments(banks.queries, None, banks.execution)
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


def target_neighbours(banks: Banks, k: int) -> FloatArray:
    """Distances of each target to its k nearest bank queries, nearest first: (k, gallery)."""
    return 1.0 - column_top(banks.queries, k, None, banks.execution)[0]


def query_neighbours(scores: FloatArray, k: int) -> FloatArray:
    """Distances of each query to its k nearest targets, nearest first: (query, k) float64."""
    best = top_k(scores, k)[0].astype(np.float64)
    finite = max(1, int(np.isfinite(best).all(axis=0).sum()))
    return 1.0 - best[:, :finite]


def at_least_smallest(values: FloatArray) -> FloatArray:
    """The values, those below SMALLEST lifted to it, for divisions."""
    return np.maximum(values, SMALLEST)
