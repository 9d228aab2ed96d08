"""Where the relevant targets of every query ended up, and the ranks of those that tie.

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
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unhub.foundation.types import FloatArray, IntArray
from unhub.metrics.hubness import k_occurrence
from unhub.metrics.relevance import Relevance


@dataclass(frozen=True, eq=False)
class TiedRanks:
    """The relevant targets of all queries, sorted by query and then by rank; each array is (total,).

    ``nth`` is 1 for the best relevant target of a query, 2 for its second, and so on.
    """

    rows: IntArray
    ranks: FloatArray
    gains: FloatArray
    nth: IntArray


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ranks of the relevant targets and the best targets of each query: all that the metrics read.

    ``ranks`` is aligned with ``relevance.targets``: the 1-based rank of each relevant target among all
    targets of its query. With ``ties="average"`` a target that shares its score has the mean of the places
    the tied targets fill, so ranks can be fractional: 1.5 is a tie for the first two places. ``shared``
    counts the targets with the same score, itself included. ``top`` holds the best targets, best first, equal
    scores by lower index. Shapes: ranks and shared (total,), top (query, depth).
    """

    relevance: Relevance
    ranks: FloatArray
    shared: IntArray
    top: IntArray
    gallery: int
    ties: str = "average"
    ignore_self: bool = False
    _occurrences: dict[int, NDArray[np.int64]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_top(cls, top: IntArray, gallery: int) -> Ranking:
        """A ranking of which only the best targets are known: enough for the hubness metrics."""
        nothing = Relevance.from_sets([()] * len(top), gallery, allow_empty=True)
        return cls(nothing, np.zeros(0), np.zeros(0, dtype=np.int64), top, gallery)

    @property
    def queries(self) -> int:
        """The number of queries."""
        return self.relevance.queries

    @property
    def depth(self) -> int:
        """How many best targets of each query were kept."""
        return int(self.top.shape[1])

    @property
    def candidates(self) -> int:
        """How many targets each query ranks."""
        return self.gallery - int(self.ignore_self)

    @cached_property
    def tied(self) -> TiedRanks:
        """The ranks of the relevant targets with ties taken apart; computed once."""
        return tied_ranks(self)

    def occurrences(self, k: int) -> NDArray[np.int64]:
        """How often each target is among the k best: (gallery,), computed once; k is clipped to the candidates."""
        k = min(k, self.candidates)
        if k not in self._occurrences:
            self._occurrences[k] = k_occurrence(self.top, self.gallery, k)
        return self._occurrences[k]


def tied_ranks(ranking: Ranking) -> TiedRanks:
    """The rank of each relevant target; no two of a query share one."""
    relevance, ranks = ranking.relevance, ranking.ranks
    rows, gains = relevance.query_rows, relevance.gains
    if relevance.counts.max(initial=0) <= 1:
        return TiedRanks(rows, ranks, gains, np.ones(rows.size, dtype=np.int64))
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
    return TiedRanks(rows, _SPREAD[ranking.ties](ranks, shared, m, i), gains, nth)


Spread = Callable[[FloatArray, IntArray, IntArray, IntArray], FloatArray]

_SPREAD: dict[str, Spread] = {  # from the rank r that the m targets share, see `unhub.metrics.rank_counts`
    "average": lambda r, e, m, i: r - (e + 1) / 2 + i * (e + 1) / (m + 1),
    "optimistic": lambda r, e, m, i: r - 1 + i,
    "pessimistic": lambda r, e, m, i: r - m + i,
    "index": lambda r, e, m, i: r,
}
_GAIN_SIGN = {"average": 0, "optimistic": -1, "pessimistic": 1, "index": 0}
