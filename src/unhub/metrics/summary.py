"""A ranking summed up in the metrics asked for."""

from __future__ import annotations

from collections.abc import Iterable

from unhub.metrics.ranking import Ranking
from unhub.metrics.registry import DEFAULT_METRICS, metric
from unhub.metrics.retrieval import PerQuery


def summarise(ranking: Ranking, names: Iterable[str] = DEFAULT_METRICS) -> dict[str, float]:
    """Each metric asked for, under the name it was asked by.

    In percent (0 .. 100): R@k, recall@k, ndcg@k, mrr, map, gmean, antihub@k. As they are: MdR, MnR (ranks),
    max_n@k (a count), skew@k, robin_hood@k and gini@k. Queries without a relevant target count for hubness
    only.
    """
    return {name: metric(name).value(ranking) for name in names}


def per_query(ranking: Ranking, name: str) -> PerQuery | None:
    """One value per query, not in percent, NaN for a query not judged; None for whole-set metrics."""
    function = metric(name).per_query
    return None if function is None else function(ranking)
