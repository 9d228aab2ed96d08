"""Targets that belong together, such as the captions of one image."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.metrics.row_numbers import whole_numbers


def group_targets(rows: IntArray, targets: IntArray, queries: int, gallery: int) -> IntArray:
    """The group of each target: (gallery,). Targets relevant to the same query share one.

    rows, targets: (total,), the pairs of a relevance, sorted by query. Groups are numbered from 0 in the
    order of their queries; targets relevant to no query follow, each a group of its own.
    """
    owner = np.full(gallery, queries)  # the first query of each target; `queries` stands for none
    np.minimum.at(owner, targets, rows)
    counts = np.bincount(rows, minlength=queries)
    smallest = np.full(queries, queries)  # the smallest owner among the targets of each query
    np.minimum.at(smallest, rows, owner[targets])
    # All targets of a query have one owner, whose set is as large: then the two sets are the same.
    differs = (owner[targets] != smallest[rows]) | (counts[smallest[rows]] != counts[rows])
    if differs.any():
        query = int(rows[np.argmax(differs)])
        other = int(smallest[query])
        shared = int(targets[(rows == query) & (owner[targets] == other)][0])
        raise InputError(
            f"target {shared} is relevant to query {other} and query {query}, whose other targets differ, "
            f"so the targets do not form groups; rank them one by one."
        )
    alone = owner == queries
    owner[alone] += np.arange(np.count_nonzero(alone))
    groups: IntArray = np.unique(owner, return_inverse=True)[1]
    return groups


class GroupMaximum:
    """The best score within each group: what CLIP4Clip ranks when a target has many captions.

    >>> GroupMaximum([0, 1, 0])(np.array([[0.1, 0.2, 0.3]])).tolist()
    [[0.3, 0.2]]
    """

    def __init__(self, groups: ArrayLike) -> None:
        ids = whole_numbers(groups, "groups")
        counts = np.bincount(ids) if ids.size and ids.min() >= 0 else np.zeros(1, dtype=np.int64)
        if not counts.all():
            raise InputError("groups must number the groups 0, 1, 2, .. without a gap, one number for each target.")
        self.targets = ids.size
        self.groups = counts.size
        self._starts = np.cumsum(counts) - counts
        in_order = bool((np.diff(ids) >= 0).all())
        self._order = None if in_order else np.argsort(ids, kind="stable")

    def __call__(self, scores: FloatArray) -> FloatArray:
        """(query, target) scores to (query, group) scores."""
        ordered = scores if self._order is None else scores[:, self._order]
        best: FloatArray = np.maximum.reduceat(ordered, self._starts, axis=1)
        return best
