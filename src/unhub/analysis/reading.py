"""What page and report both look at: who ranks what, without a correction and with one, and who everybody is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unhub.api.evaluation import MethodResult
from unhub.dataset import Items
from unhub.foundation.types import BoolArray, IntArray
from unhub.metrics import Relevance


@dataclass(frozen=True, eq=False)
class Reading:
    """Two rankings of one test set, whole or a part of it."""

    before: MethodResult
    after: MethodResult
    relevance: Relevance
    queries: Items
    targets: Items
    target_ids: Sequence[str]

    def right(self, query: int) -> list[int]:
        """The targets that are right for a query."""
        start, end = self.relevance.indptr[query : query + 2]
        found: list[int] = self.relevance.targets[start:end].tolist()
        return found

    def right_for(self, target: int) -> BoolArray:
        """(query,): for which queries a target is right."""
        found = np.zeros(self.relevance.queries, dtype=bool)
        found[self.relevance.query_rows[self.relevance.targets == target]] = True
        return found

    def nearest_right(self, query: int) -> int:
        """The right target that comes first in either list, or the first of all that are right; -1 where none is."""
        right = self.right(query)
        for row in (self.before, self.after):
            for target in row.top[query].tolist():
                if target in right:
                    return int(target)
        return right[0] if right else -1

    def kind_of(self, target: int) -> str | None:
        """What shows a target: image, audio, video, or nothing."""
        media = self.targets.media[target]
        return None if media is None else media.kind


def evenly(size: int, most: int) -> IntArray:
    """At most so many numbers below ``size``, evenly spaced, so that they speak for all.

    >>> evenly(9, 3).tolist(), evenly(2, 5).tolist()
    ([0, 4, 8], [0, 1])
    """
    chosen: IntArray = np.linspace(0, max(0, size - 1), min(size, most)).round().astype(int)
    return chosen
