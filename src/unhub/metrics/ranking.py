"""The ranks of the relevant targets of every query, from counts of greater and equal scores.

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

from unhub.foundation.errors import InputError
from unhub.foundation.types import BoolArray, FloatArray, IntArray
from unhub.metrics.hubness import k_occurrence
from unhub.metrics.relevance import Relevance

TiePolicy = Callable[[IntArray, IntArray, IntArray], FloatArray]

TIES: dict[str, TiePolicy] = {
    "average": lambda greater, shared, before: greater + (shared + 1) / 2,
    "optimistic": lambda greater, shared, before: greater + 1.0,
    "pessimistic": lambda greater, shared, before: greater + 1.0 * shared,
    "index": lambda greater, shared, before: greater + before + 1.0,
}
"""The 1-based rank of a target, from three counts over the targets of its query:

``greater`` scores, ``shared`` scores (equal, itself included) and those of them ``before`` it in the gallery.

>>> {name: policy(2, 3, 1) for name, policy in TIES.items()}
{'average': 4.0, 'optimistic': 3.0, 'pessimistic': 5.0, 'index': 4.0}
"""

FEW = 6  # up to so many relevant targets per query, counting once for each costs less than sorting the row


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

_SPREAD: dict[str, Spread] = {  # from the rank r that the m targets share
    "average": lambda r, e, m, i: r - (e + 1) / 2 + i * (e + 1) / (m + 1),
    "optimistic": lambda r, e, m, i: r - 1 + i,
    "pessimistic": lambda r, e, m, i: r - m + i,
    "index": lambda r, e, m, i: r,
}
_GAIN_SIGN = {"average": 0, "optimistic": -1, "pessimistic": 1, "index": 0}


def rank_counts(
    scores: FloatArray, indptr: IntArray, targets: IntArray, *, few: int = FEW
) -> tuple[IntArray, IntArray]:
    """Of each chosen target: how many scores of its row are greater, and how many equal it (itself included).

    scores: (query, gallery). The chosen targets of row i are ``targets[indptr[i]:indptr[i + 1]]``. Returns
    (total,) twice. Rows with more than ``few`` chosen targets are sorted, others are counted.

    >>> greater, shared = rank_counts(np.array([[0.9, 0.5, 0.5]]), np.array([0, 2]), np.array([0, 2]))
    >>> greater.tolist(), shared.tolist()
    ([0, 1], [1, 2])
    """
    most = int(np.diff(indptr).max(initial=0))
    return _by_counting(scores, indptr, targets) if most <= few else _by_sorting(scores, indptr, targets)


def _by_counting(scores: FloatArray, indptr: IntArray, targets: IntArray) -> tuple[IntArray, IntArray]:
    greater, shared = np.zeros(targets.size, dtype=np.int64), np.zeros(targets.size, dtype=np.int64)
    counts = np.diff(indptr)
    for nth in range(int(counts.max(initial=0))):
        rows = np.flatnonzero(counts > nth)
        entries = indptr[rows] + nth
        block = scores if rows.size == len(scores) else scores[rows]
        own = block[np.arange(rows.size), targets[entries]][:, None]
        greater[entries] = _count(block > own)
        shared[entries] = _count(block == own)
    return greater, shared


def _count(mask: BoolArray) -> IntArray:
    # Several times faster than count_nonzero with an axis.
    counts: IntArray = mask.view(np.uint8).sum(axis=1, dtype=np.int32)
    return counts


def _by_sorting(scores: FloatArray, indptr: IntArray, targets: IntArray) -> tuple[IntArray, IntArray]:
    greater, shared = np.zeros(targets.size, dtype=np.int64), np.zeros(targets.size, dtype=np.int64)
    ascending = np.sort(scores, axis=1)
    for row, line in enumerate(ascending):
        entries = slice(indptr[row], indptr[row + 1])
        own = scores[row, targets[entries]]
        high = np.searchsorted(line, own, side="right")
        greater[entries] = line.size - high
        shared[entries] = high - np.searchsorted(line, own, side="left")
    return greater, shared


def equal_before(scores: FloatArray, rows: IntArray, targets: IntArray, shared: IntArray) -> IntArray:
    """Of each chosen target: how many equal scores of its row have a lower index: (total,)."""
    before = np.zeros(targets.size, dtype=np.int64)
    for entry in np.flatnonzero(shared > 1):
        line, target = scores[rows[entry]], targets[entry]
        before[entry] = np.count_nonzero(line[:target] == line[target])
    return before


def tie_policy(name: str) -> TiePolicy:
    """The policy of that name, or an error that lists the names."""
    if name not in TIES:
        raise InputError("ties", f"is {name!r}, which is not a tie policy", f"choose one of {', '.join(TIES)}")
    return TIES[name]
