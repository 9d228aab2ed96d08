"""No correction beside a correction on one test set: what figures, report and page look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unhub.api.evaluation import MethodResult
from unhub.dataset import Items
from unhub.foundation.types import BoolArray, IntArray
from unhub.metrics import Relevance, k_occurrence

DEPTH = 10
"""the depth at which a target counts as retrieved"""
FEW = 5
"""times the depth: in a smaller gallery nearly every target is among the ten best"""


@dataclass(frozen=True, eq=False)
class RankingPair:
    """Two rankings of one test set, or of a sample of it, with its relevance and items."""

    before: MethodResult
    after: MethodResult
    relevance: Relevance
    queries: Items
    targets: Items

    @property
    def depth(self) -> int:
        """The k of k-occurrence: 10, or 1 in a small gallery."""
        return DEPTH if self.relevance.gallery >= FEW * DEPTH else 1

    def counts(self, row: MethodResult, k: int) -> IntArray:
        """(gallery,): how many queries have each target among their first k."""
        return k_occurrence(row.top, self.relevance.gallery, min(k, row.top.shape[1]))

    def right(self, query: int) -> IntArray:
        """The relevant targets of a query."""
        start, end = self.relevance.indptr[query : query + 2]
        return self.relevance.targets[start:end]

    def are_right(self, query: int, targets: Sequence[int] | IntArray) -> BoolArray:
        """Which of these targets are relevant to a query."""
        return np.isin(np.asarray(targets), self.right(query))

    def right_for(self, target: int) -> BoolArray:
        """(query,): the queries that a target is relevant to."""
        relevant = np.zeros(self.relevance.queries, dtype=bool)
        relevant[self.relevance.query_rows[self.relevance.targets == target]] = True
        return relevant

    def nearest_right(self, query: int) -> int:
        """The relevant target that ranks first in either list, or else any; -1 where there is none."""
        right = self.right(query)
        for row in (self.before, self.after):
            for target in row.top[query].tolist():
                if target in right:
                    return int(target)
        return int(right[0]) if len(right) else -1
