"""How well each query was answered: one number per query, averaged elsewhere.

Every function returns float64 (query,); a query without a relevant target has NaN. They read the ranks of
the relevant targets (see `unhub.metrics.ranking`). With ``ties="average"`` a rank can be fractional: it is
the mean rank over all orders of the tied targets, and the measure is taken at that mean. A target tied for
ranks 1 and 2 has 1.5: it is not in the top 1, it is in the top 2, and its reciprocal rank is 1 / 1.5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray, FloatArray
from unhub.metrics.ranking import Ranking

PerQuery = NDArray[np.float64]


def best_rank(ranking: Ranking) -> PerQuery:
    """The place of the best relevant target, 1-based."""
    tied = ranking.tied
    best = np.full(ranking.queries, np.nan)
    first = tied.nth == 1
    best[tied.rows[first]] = tied.ranks[first]
    return best


def hit_rate(ranking: Ranking, k: int) -> PerQuery:
    """1 where at least one relevant target is in the top k, else 0; its mean is R@k."""
    best = best_rank(ranking)
    return np.where(np.isnan(best), np.nan, best <= k)


def recall(ranking: Ranking, k: int) -> PerQuery:
    """The share of the relevant targets that is in the top k."""
    tied = ranking.tied
    return _over(_sum(ranking, 1.0 * (tied.ranks <= k)), ranking.relevance.counts)


def reciprocal_rank(ranking: Ranking) -> PerQuery:
    """1 / (place of the best relevant target); its mean is the MRR."""
    return 1.0 / best_rank(ranking)


def average_precision(ranking: Ranking) -> PerQuery:
    """The mean, over the relevant targets, of the precision at their places; its mean is the MAP.

    AP = 1/m sum_n  n / place_n,  place_n the place of the n-th best of the m relevant targets
    """
    tied = ranking.tied
    return _over(_sum(ranking, tied.nth / tied.ranks), ranking.relevance.counts)


def ndcg(ranking: Ranking, k: int) -> PerQuery:
    """The discounted gain of the top k over that of the best order, with linear gains as in trec_eval.

    DCG = sum over relevant targets in the top k of gain / log2(1 + place)
    """
    tied = ranking.tied
    reached = tied.gains / np.log2(1 + tied.ranks) * (tied.ranks <= k)
    rows, gains = ranking.relevance.query_rows, ranking.relevance.gains
    descending = gains[np.lexsort((-gains, rows))]
    position = np.arange(rows.size) - ranking.relevance.indptr[rows] + 1
    possible = descending / np.log2(1 + position) * (position <= k)
    return _over(_sum(ranking, reached), _sum(ranking, possible))


def geometric_mean(values: ArrayLike) -> float:
    """(v_1 v_2 .. v_n)^(1/n), 0 if any is 0.

    >>> geometric_mean([1, 4])
    2.0
    """
    array = np.asarray(values, dtype=np.float64)
    return float(np.prod(array) ** (1 / array.size))


def gmean(ranking: Ranking) -> float:
    """The geometric mean of R@1, R@5 and R@10 over the queries that have a relevant target."""
    judged = ranking.relevance.judged()
    if not judged.any():
        raise InputError("gmean needs a query with a relevant target, but no query has one.")
    return geometric_mean([hit_rate(ranking, k)[judged].mean() for k in (1, 5, 10)])


def _sum(ranking: Ranking, values: FloatArray) -> PerQuery:
    """Sums over the relevant targets of each query; values: (total,), sorted by query."""
    weights = np.asarray(values, dtype=np.float64)
    sums = np.bincount(ranking.relevance.query_rows, weights=weights, minlength=ranking.queries)
    return sums.astype(np.float64, copy=False)


def _over(values: PerQuery, by: AnyArray) -> PerQuery:
    """values / by, NaN where a query has no relevant target."""
    shares: PerQuery = np.divide(values, by, out=np.full(values.size, np.nan), where=by > 0)
    return shares
