"""Sparsity-constrained transport (M1N, M5N)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.core.parameters import checked, count, positive
from unhub.foundation.types import FloatArray
from unhub.solvers.transport import smooth_plan


@dataclass(frozen=True)
class SparseK:
    """The plan of transport with at most k nonzeros per column, cost 1 - s   [liu:23; pan:25, ablation]"""

    name: ClassVar[str] = "sparse_k"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset()

    k: int = 1
    reg: float = 0.05

    def __post_init__(self) -> None:
        checked(self, k=count, reg=positive)

    def correct(self, scores: FloatArray) -> FloatArray:
        """The plan (query, gallery), float64, at most k entries in a column."""
        return smooth_plan(scores, self.reg, most_per_column=self.k)
