"""From rows of scores, which may come in blocks, to a ranking."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unhub.core.topk import top_k
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.metrics.ranking import Ranking, equal_before, rank_counts, tie_policy
from unhub.metrics.relevance import Relevance
from unhub.metrics.row_numbers import name_rows, whole_numbers

BLOCK_SCORES = 1 << 19  # scores that `rank` handles at once: 4 MB in float64


class Ranker:
    """Builds a `Ranking` from blocks of score rows, so that the whole matrix need never exist.

    ``ignore_self`` leaves target i out for query i, everywhere. ``groups`` (gallery,) gives the group of each
    target: a group's score is the largest of its targets', and relevance is then about groups.
    """

    def __init__(
        self,
        relevance: Relevance,
        *,
        ties: str = "average",
        depth: int = 10,
        ignore_self: bool = False,
        groups: ArrayLike | None = None,
    ) -> None:
        if relevance.gallery < 1:
            raise InputError("the gallery is empty; there is nothing to rank.")
        if depth < 1:
            raise InputError("depth", f"is {depth}", "keep at least 1 target for each query")
        if ignore_self and groups is not None:
            raise InputError("ignore_self", "cannot go with groups", "a group is not one of the queries")
        if ignore_self and relevance.queries > relevance.gallery:
            raise InputError(
                "ignore_self",
                f"needs every query in the gallery, but there are {relevance.queries} queries and {relevance.gallery} "
                f"targets",
            )
        self._policy, self._ties = tie_policy(ties), ties
        self._relevance = relevance.without_self() if ignore_self else relevance
        self._ignore_self = ignore_self
        self._maximum = None if groups is None else GroupMaximum(groups)
        if self._maximum is not None and self._maximum.groups != relevance.gallery:
            raise InputError(
                "groups",
                f"has {self._maximum.groups} groups but the relevance has {relevance.gallery}",
                "make it with relevance.grouped(groups)",
            )
        self._columns = relevance.gallery if self._maximum is None else self._maximum.targets
        self._ranks = np.zeros(self._relevance.targets.size)
        self._shared = np.zeros(self._relevance.targets.size, dtype=np.int64)
        width = min(depth, relevance.gallery - int(ignore_self))
        self._top = np.zeros((relevance.queries, width), dtype=np.int64)
        self._added = np.zeros(relevance.queries, dtype=bool)

    def add(self, start: int, scores: FloatArray) -> None:
        """Takes the score rows of the queries ``start``, ``start + 1``, ..; scores: (block, gallery)."""
        scores = _checked(scores, start, queries=self._relevance.queries, columns=self._columns)
        if self._maximum is not None:
            scores = self._maximum(scores)
        stop = start + len(scores)
        indptr = self._relevance.indptr[start : stop + 1]
        entries = slice(indptr[0], indptr[-1])
        targets, rows = self._relevance.targets[entries], np.repeat(np.arange(len(scores)), np.diff(indptr))
        greater, shared = rank_counts(scores, indptr - indptr[0], targets)
        before = equal_before(scores, rows, targets, shared) if self._ties == "index" else np.zeros_like(shared)
        if self._ignore_self:
            own, itself = scores[rows, targets], scores[rows, rows + start]
            greater, shared = greater - (itself > own), shared - (itself == own)
            before = before - ((itself == own) & (rows + start < targets) & (self._ties == "index"))
        self._ranks[entries] = self._policy(greater, shared, before)
        self._shared[entries] = shared
        self._top[start:stop] = self._best(scores, np.arange(start, stop))
        self._added[start:stop] = True

    def result(self) -> Ranking:
        """The ranking, once every query has been added."""
        if not self._added.all():
            missing = name_rows(~self._added, "query")
            raise InputError(f"the scores of {np.count_nonzero(~self._added)} queries were never added ({missing}).")
        return Ranking(
            self._relevance, self._ranks, self._shared, self._top,
            self._relevance.gallery, self._ties, self._ignore_self,
        )  # fmt: skip

    def _best(self, scores: FloatArray, queries: IntArray) -> IntArray:
        width = self._top.shape[1]
        if not self._ignore_self:
            return top_k(scores, width)[1]
        best = top_k(scores, width + 1)[1]  # one more; the query itself is dropped, or else the last one
        itself = best == queries[:, None]
        itself[~itself.any(axis=1), -1] = True
        others: IntArray = best[~itself].reshape(len(scores), width)
        return others


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


def _checked(scores: FloatArray, start: int, *, queries: int, columns: int) -> FloatArray:
    """The rows of the queries ``start``, ``start + 1``, .. in float32 or float64, or an error.

    float16 becomes float32 and whole numbers float64; -inf is a score like any other, NaN is not.
    """
    scores = np.asarray(scores)
    if scores.ndim != 2 or scores.shape[1] != columns:
        raise InputError("scores", f"has shape {scores.shape}", f"expected (query, gallery) with {columns} columns")
    if not 0 <= start <= start + len(scores) <= queries:
        raise InputError("scores", f"has {len(scores)} rows from query {start} on, but there are {queries} queries")
    if scores.dtype not in (np.float32, np.float64):
        scores = scores.astype(np.float32 if scores.dtype == np.float16 else np.float64)
    missing = np.isnan(scores.max(axis=1))
    if missing.any():
        wrong = np.concatenate((np.zeros(start, dtype=bool), missing))
        raise InputError("scores", f"has NaN in {np.count_nonzero(missing)} rows ({name_rows(wrong, 'query')})")
    return scores


def rank(
    scores: FloatArray,
    relevance: Relevance,
    *,
    ties: str = "average",
    depth: int = 10,
    ignore_self: bool = False,
    groups: ArrayLike | None = None,
) -> Ranking:
    """The ranking of one score matrix: (query, gallery), larger is better. See `Ranker`.

    >>> scores = np.array([[0.9, 0.2, 0.5], [0.1, 0.3, 0.3]])
    >>> rank(scores, Relevance.from_index([0, 1], gallery=3)).ranks.tolist()
    [1.0, 1.5]
    """
    scores = np.asarray(scores)
    ranker = Ranker(relevance, ties=ties, depth=depth, ignore_self=ignore_self, groups=groups)
    if scores.ndim != 2 or len(scores) != relevance.queries:
        raise InputError("scores", f"has shape {scores.shape} but the relevance has {relevance.queries} queries")
    step = max(1, BLOCK_SCORES // max(1, scores.shape[1]))
    for start in range(0, len(scores), step):
        ranker.add(start, scores[start : start + step])
    return ranker.result()
