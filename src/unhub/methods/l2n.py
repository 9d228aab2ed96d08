"""Quadratically regularised transport (L2N)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.core.parameters import checked, positive
from unhub.foundation.types import FloatArray
from unhub.solvers.transport import smooth_plan


@dataclass(frozen=True)
class L2N:
    """The plan of transport with (reg / 2) * squared L2 regularisation, cost 1 - s   [blondel:18; pan:25, ablation]"""

    name: ClassVar[str] = "l2n"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset()

    reg: float = 0.05

    def __post_init__(self) -> None:
        checked(self, reg=positive)

    def correct(self, scores: FloatArray) -> FloatArray:
        """The plan (query, gallery), float64, sparse."""
        return smooth_plan(scores, self.reg)
