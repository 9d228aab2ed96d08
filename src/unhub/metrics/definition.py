"""What a metric is: a name, a way to find its number, and how to read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unhub.foundation.errors import InputError
from unhub.metrics.ranking import Ranking
from unhub.metrics.retrieval import PerQuery


@dataclass(frozen=True)
class Metric:
    """One number about a ranking: what it is called, how it is found, how to read it.

    Either ``per_query`` gives a value for each query, and ``average`` (the mean, as a rule) makes one of them, or
    ``whole`` looks at all queries together.

    name, json_name: in tables, and in JSON.
    title, description: in words, and in a sentence; the name where there is none.
    percent: a share, given as 0 .. 100 by ``measure``.
    larger_is_better: the direction; None where the best value is neither the largest nor the smallest.
    depth: how many of the best targets of each query it reads.
    digits: how many are shown behind the point.
    """

    name: str
    json_name: str = ""
    per_query: Callable[[Ranking], PerQuery] | None = None
    average: Callable[[PerQuery], np.floating] = np.mean
    whole: Callable[[Ranking], float] | None = None
    percent: bool = False
    larger_is_better: bool | None = None
    depth: int = 1
    title: str = ""
    description: str = ""
    digits: int = 2

    def __post_init__(self) -> None:
        for name in ("json_name", "title"):
            object.__setattr__(self, name, getattr(self, name) or self.name)

    def value(self, ranking: Ranking) -> float:
        """The number itself, over the queries that have a relevant target; in percent for a share."""
        return self.value_of(ranking, None if self.per_query is None else self.per_query(ranking))

    def value_of(self, ranking: Ranking, values: PerQuery | None) -> float:
        """The same from the values of each query, where it has them: what ``per_query`` gives."""
        scale = 100.0 if self.percent else 1.0
        if values is None:
            assert self.whole is not None
            return scale * float(self.whole(ranking))
        judged = ranking.relevance.judged()
        if not judged.any():
            raise InputError(f"{self.name} needs a query with a relevant target, but no query has one.")
        return float(self.average(scale * values[judged]))

    def shown(self, value: float) -> str:
        """The value as a table has it."""
        return f"{value:.{self.digits}f}"


def rate(
    name: str, json_name: str, function: Callable[[Ranking, int], PerQuery], k: int, title: str, description: str
) -> Metric:
    """A share found query by query at a cut-off k, in percent, the larger the better."""

    def at_k(ranking: Ranking) -> PerQuery:
        return function(ranking, k)

    return Metric(
        f"{name}@{k}",
        f"{json_name}@{k}",
        at_k,
        percent=True,
        larger_is_better=True,
        title=f"{title} at {k}",
        description=description.format(k=k),
        digits=1,
    )


def unevenness(
    name: str,
    function: Callable[[ArrayLike], float],
    k: int,
    title: str,
    description: str,
    *,
    percent: bool = False,
    larger_is_better: bool | None = False,
) -> Metric:
    """A number read off the k-occurrences of all targets; k is clipped to the targets there are."""
    return Metric(
        f"{name}@{k}",
        whole=lambda ranking: function(ranking.occurrences(k)),
        percent=percent,
        larger_is_better=larger_is_better,
        depth=k,
        title=f"{title} at {k}",
        description=description.format(k=k),
        digits=1 if percent else 2,
    )
