"""Where the relevant targets of every query ended up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.foundation.types import FloatArray, IntArray
from unhub.metrics.relevance import Relevance


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
