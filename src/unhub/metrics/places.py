"""The places that the relevant targets of a query fill, when some of them tie with each other.

Two relevant targets with one score cannot both be second. If m relevant targets of a query share their score
with e - m others, and g targets score more, the i-th of the m (i = 1 .. m) is put at

    average       g + i (e + 1) / (m + 1)      its mean place over all orders of the e targets
    optimistic    g + i                        the relevant ones come first
    pessimistic   g + e - m + i                the relevant ones come last
    index         its own rank                 nothing is tied

For m = 1 this is the rank. With graded gains, the higher gain goes first (optimistic), last (pessimistic), or
each of the m has their mean gain (average), so a measure never depends on the order of the gallery.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unhub.foundation.types import FloatArray, IntArray
from unhub.metrics.ranking import Ranking


@dataclass(frozen=True, eq=False)
class Places:
    """The relevant targets of all queries, sorted by query and then by place; each array is (total,).

    ``nth`` is 1 for the best relevant target of a query, 2 for its second, and so on.
    """

    rows: IntArray
    place: FloatArray
    gains: FloatArray
    nth: IntArray


def places(ranking: Ranking) -> Places:
    """Where each relevant target stands; no two of a query stand in one place."""
    relevance, ranks = ranking.relevance, ranking.ranks
    rows, gains = relevance.query_rows, relevance.gains
    if relevance.counts.max(initial=0) <= 1:
        return Places(rows, ranks, gains, np.ones(rows.size, dtype=np.int64))
    order = np.lexsort((_GAIN_SIGN[ranking.ties] * gains, ranks, rows))
    ranks, gains, shared = ranks[order], gains[order], ranking.shared[order]
    nth = np.arange(rows.size) - relevance.indptr[rows] + 1
    new_tie = np.ones(rows.size, dtype=bool)
    new_tie[1:] = (np.diff(rows) != 0) | (np.diff(ranks) != 0)
    tie = np.cumsum(new_tie) - 1
    m = np.bincount(tie)[tie]
    i = np.arange(rows.size) - np.flatnonzero(new_tie)[tie] + 1
    if ranking.ties == "average":
        gains = (np.bincount(tie, weights=gains) / np.bincount(tie))[tie]
    return Places(rows, _SPREAD[ranking.ties](ranks, shared, m, i), gains, nth)


Spread = Callable[[FloatArray, IntArray, IntArray, IntArray], FloatArray]

_SPREAD: dict[str, Spread] = {  # from the rank r that the m targets share, see `unhub.metrics.ties`
    "average": lambda r, e, m, i: r - (e + 1) / 2 + i * (e + 1) / (m + 1),
    "optimistic": lambda r, e, m, i: r - 1 + i,
    "pessimistic": lambda r, e, m, i: r - m + i,
    "index": lambda r, e, m, i: r,
}
_GAIN_SIGN = {"average": 0, "optimistic": -1, "pessimistic": 1, "index": 0}
