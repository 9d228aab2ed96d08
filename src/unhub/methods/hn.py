"""Hungarian normalisation (HN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.foundation.types import FloatArray
from unhub.solvers.transport import assignment


@dataclass(frozen=True)
class HN:
    """The optimal assignment of queries to targets as a matrix of zeros and ones   [pan:25, ablation]"""

    name: ClassVar[str] = "hn"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset()

    def correct(self, scores: FloatArray) -> FloatArray:
        """One where a query is assigned to a target, zero elsewhere."""
        return assignment(scores)
