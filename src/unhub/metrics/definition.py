"""What a metric is: a name, a way to find its number, and how to read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unhub.foundation.errors import InputError
from unhub.metrics.hubness import k_occurrence
from unhub.metrics.ranking import Ranking
from unhub.metrics.retrieval import PerQuery


@dataclass(frozen=True)
class Metric:
    """One number about a ranking: what it is called, how it is found, how to read it.

    Either ``per_query`` gives a value for each query, and ``average`` (the mean, as a rule) makes one of
    them, or ``whole`` looks at all queries together. ``percent``: a share, given as 0 .. 100 by `summarise`.
    ``larger_is_better`` is None where the best value is neither the largest nor the smallest. ``depth``: how
    many of the best targets of each query it reads.
    """

    name: str
    json_name: str
    per_query: Callable[[Ranking], PerQuery] | None = None
    average: Callable[[PerQuery], np.floating] = np.mean
    whole: Callable[[Ranking], float] | None = None
    percent: bool = False
    larger_is_better: bool | None = None
    depth: int = 1

    def value(self, ranking: Ranking) -> float:
        """The number itself, over the queries that have a relevant target; in percent for a share."""
        scale = 100.0 if self.percent else 1.0
        if self.per_query is None:
            assert self.whole is not None
            return scale * self.whole(ranking)
        judged = ranking.relevance.judged()
        if not judged.any():
            raise InputError(f"{self.name} needs a query with a relevant target, but no query has one")
        return float(self.average(scale * self.per_query(ranking)[judged]))


def rate(name: str, json_name: str, function: Callable[[Ranking, int], PerQuery], k: int) -> Metric:
    """A share found query by query at a cut-off k, in percent, the larger the better."""

    def at_k(ranking: Ranking) -> PerQuery:
        return function(ranking, k)

    return Metric(f"{name}@{k}", f"{json_name}@{k}", at_k, percent=True, larger_is_better=True)


def unevenness(
    name: str,
    function: Callable[[ArrayLike], float],
    k: int,
    *,
    percent: bool = False,
    larger_is_better: bool | None = False,
) -> Metric:
    """A number read off the k-occurrences of all targets; k is clipped to the targets there are."""

    def of_counts(ranking: Ranking) -> float:
        return function(k_occurrence(ranking.top, ranking.gallery, min(k, ranking.candidates)))

    full = f"{name}@{k}"
    return Metric(full, full, whole=of_counts, percent=percent, larger_is_better=larger_is_better, depth=k)
