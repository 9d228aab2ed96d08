"""Which targets are right for which query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unhub.foundation.errors import InputError
from unhub.foundation.types import BoolArray, FloatArray, IntArray
from unhub.metrics.row_numbers import (
    check_length,
    check_queries,
    check_targets,
    compress,
    pairs_with_equal_labels,
    whole_numbers,
)


@dataclass(frozen=True, eq=False)
class Relevance:
    """The relevant targets of every query, in compressed rows; made by the ``from_...`` constructors.

    The targets of query i are ``targets[indptr[i]:indptr[i + 1]]``, sorted and without repeats; ``gains``
    says how relevant each one is (positive, 1 unless graded). Shapes: indptr (query + 1,), targets and gains
    (total,).

    >>> relevance = Relevance.from_sets([{0, 2}, {1}], gallery=3)
    >>> relevance.counts.tolist(), relevance.reverse().targets.tolist()
    ([2, 1], [0, 1, 0])
    """

    indptr: IntArray
    targets: IntArray
    gains: FloatArray
    gallery: int

    @classmethod
    def from_index(
        cls, index: ArrayLike, gallery: int, *, queries: int | None = None, name: str = "relevant"
    ) -> Relevance:
        """One relevant target per query: ``index[i]`` is the target of query i; name: the argument it was given for."""
        targets = whole_numbers(index, name)
        check_length(targets.size, queries, name)
        check_targets(targets, np.arange(targets.size), gallery, name)
        return cls(np.arange(targets.size + 1), targets, np.ones(targets.size), gallery)

    @classmethod
    def from_sets(
        cls, sets: Iterable[Iterable[int]], gallery: int, *, queries: int | None = None, allow_empty: bool = False
    ) -> Relevance:
        """Several relevant targets per query: ``sets[i]`` holds the targets of query i."""
        lists: list[list[int]] = []
        for row, items in enumerate(sets):
            if isinstance(items, str) or not isinstance(items, Iterable):
                raise InputError(f"relevant[{row}] is {items!r}, not a set of target rows.")
            lists.append(list(items))
        check_length(len(lists), queries)
        rows = np.repeat(np.arange(len(lists)), [len(items) for items in lists])
        targets = whole_numbers([target for items in lists for target in items], "relevant")
        return cls._from(rows, targets, np.ones(rows.size), len(lists), gallery, allow_empty)

    @classmethod
    def from_pairs(
        cls,
        query_rows: ArrayLike,
        target_rows: ArrayLike,
        *,
        queries: int,
        gallery: int,
        gains: ArrayLike | None = None,
        allow_empty: bool = False,
        name: str = "relevant",
    ) -> Relevance:
        """Pairs (query row, target row), graded by ``gains``; a gain of 0 means judged and not relevant.

        name: the argument that they were given for.
        """
        rows, targets = whole_numbers(query_rows, "query_rows"), whole_numbers(target_rows, "target_rows")
        weights = np.ones(rows.size) if gains is None else np.asarray(gains, dtype=np.float64)
        if not rows.size == targets.size == weights.size:
            raise InputError(
                f"query_rows, target_rows and gains must be equally long, "
                f"but have {rows.size}, {targets.size} and {weights.size} entries."
            )
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if wrong.size:
            raise InputError(f"gains[{wrong[0]}] is {weights[wrong[0]]:g}; a gain is a finite number, 0 or more.")
        check_queries(rows, queries, name)
        kept = weights > 0
        return cls._from(rows[kept], targets[kept], weights[kept], queries, gallery, allow_empty, name)

    @classmethod
    def from_labels(cls, query_labels: ArrayLike, target_labels: ArrayLike, *, allow_empty: bool = False) -> Relevance:
        """Every target with the query's label is relevant to it."""
        own, others = np.asarray(query_labels), np.asarray(target_labels)
        rows, targets = pairs_with_equal_labels(own, others)
        return cls._from(rows, targets, np.ones(rows.size), own.size, others.size, allow_empty)

    @classmethod
    def _from(
        cls,
        rows: IntArray,
        targets: IntArray,
        gains: FloatArray,
        queries: int,
        gallery: int,
        allow_empty: bool,
        name: str = "relevant",
    ) -> Relevance:
        arrays = compress(rows, targets, gains, queries=queries, gallery=gallery, allow_empty=allow_empty, name=name)
        return cls(*arrays, gallery)

    @property
    def queries(self) -> int:
        """The number of queries."""
        return self.indptr.size - 1

    @property
    def counts(self) -> IntArray:
        """The number of relevant targets of each query: (query,)."""
        return np.diff(self.indptr)

    @property
    def query_rows(self) -> IntArray:
        """The query of each entry of ``targets``: (total,)."""
        return np.repeat(np.arange(self.queries), self.counts)

    def judged(self) -> BoolArray:
        """Which queries have at least one relevant target: (query,)."""
        return self.counts > 0

    def reverse(self) -> Relevance:
        """The other direction: targets become queries. A target relevant to no query becomes an empty row."""
        return self._from(self.targets, self.query_rows, self.gains, self.gallery, self.queries, True)

    def rows(self, which: slice | ArrayLike) -> Relevance:
        """The relevance of some queries only, in the order asked for: a slice, row numbers or a mask."""
        chosen = np.arange(self.queries)[which if isinstance(which, slice) else np.asarray(which)]
        counts = self.counts[chosen]
        indptr = np.concatenate(([0], np.cumsum(counts)))
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[:-1][chosen] - indptr[:-1], counts)
        return Relevance(indptr, self.targets[entries], self.gains[entries], self.gallery)

    def without_self(self) -> Relevance:
        """The same without the pairs (i, i), for queries that are themselves in the gallery."""
        rows, kept = self.query_rows, self.targets != self.query_rows
        return self._from(rows[kept], self.targets[kept], self.gains[kept], self.queries, self.gallery, True)

    def groups(self) -> IntArray:
        """The group of each target, from 0: targets relevant to the same query form one: (gallery,)."""
        return _group_targets(self.query_rows, self.targets, self.queries, self.gallery)

    def grouped(self, groups: IntArray) -> Relevance:
        """The relevance of whole groups, each as relevant as its best target; the groups are the gallery."""
        best = np.lexsort((-self.gains, groups[self.targets], self.query_rows))
        rows, group = self.query_rows[best], groups[self.targets][best]
        first = np.ones(rows.size, dtype=bool)
        first[1:] = (np.diff(rows) != 0) | (np.diff(group) != 0)
        size = int(groups.max()) + 1
        return self._from(rows[first], group[first], self.gains[best][first], self.queries, size, True)

    def clusters(self) -> IntArray:
        """The cluster of each query for a clustered bootstrap: its first relevant target: (query,).

        Captions of one target share a cluster; a query without a relevant target is alone.
        """
        judged = self.judged()
        clusters = self.gallery + np.arange(self.queries)
        clusters[judged] = self.targets[self.indptr[:-1][judged]]
        return clusters


def _group_targets(rows: IntArray, targets: IntArray, queries: int, gallery: int) -> IntArray:
    """The group of each target: (gallery,). Targets relevant to the same query share one.

    rows, targets: (total,), the pairs of a relevance, sorted by query. Groups are numbered from 0 in the
    order of their queries; targets relevant to no query follow, each alone in its group.
    """
    owner = np.full(gallery, queries)  # the first query of each target; `queries` means none
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
