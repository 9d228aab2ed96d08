"""Ranks from counts: how many scores of a row are greater than that of a chosen target, and how many equal it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import BoolArray, FloatArray, IntArray

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
