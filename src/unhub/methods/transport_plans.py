"""Plans of optimal transport between the test queries and the gallery: the ablations of the DBSN paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.core.parameters import checked, count, positive
from unhub.foundation.types import FloatArray
from unhub.methods.protocol import MethodDefaults
from unhub.solvers.transport import assignment, smooth_plan, transport_plan


@dataclass(frozen=True)
class OTN(MethodDefaults):
    """The plan of the unregularised transport problem with cost 1 - s and uniform marginals   [pan:25, ablation]"""

    name: ClassVar[str] = "otn"
    title: ClassVar[str] = "OTN"
    description: ClassVar[str] = "The optimal transport plan between the test queries and the gallery."

    def correct(self, scores: FloatArray) -> FloatArray:
        """The optimal plan (query, gallery), float64, most entries zero."""
        return transport_plan(scores)


@dataclass(frozen=True)
class HN(MethodDefaults):
    """The optimal assignment of queries to targets as a matrix of zeros and ones   [pan:25, ablation]"""

    name: ClassVar[str] = "hn"
    title: ClassVar[str] = "HN"
    description: ClassVar[str] = "The Hungarian assignment of test queries to targets."

    def correct(self, scores: FloatArray) -> FloatArray:
        """One where a query is assigned to a target, zero elsewhere."""
        return assignment(scores)


@dataclass(frozen=True)
class L2N(MethodDefaults):
    """The plan of transport with (reg / 2) * squared L2 regularisation, cost 1 - s   [blondel:18; pan:25, ablation]"""

    name: ClassVar[str] = "l2n"
    title: ClassVar[str] = "L2N"
    description: ClassVar[str] = "A transport plan with quadratic regularisation, which keeps it sparse."

    reg: float = 0.05

    def __post_init__(self) -> None:
        checked(self, reg=positive)

    def correct(self, scores: FloatArray) -> FloatArray:
        """The plan (query, gallery), float64, sparse."""
        return smooth_plan(scores, self.reg)


@dataclass(frozen=True)
class SparseK(MethodDefaults):
    """The plan of transport with at most k nonzeros per column, cost 1 - s   [liu:23; pan:25, ablation]"""

    name: ClassVar[str] = "sparse_k"
    title: ClassVar[str] = "sparse-k"
    description: ClassVar[str] = "A transport plan with at most k queries for each target (M1N, M5N)."

    k: int = 1
    reg: float = 0.05

    def __post_init__(self) -> None:
        checked(self, k=count, reg=positive)

    def correct(self, scores: FloatArray) -> FloatArray:
        """The plan (query, gallery), float64, at most k entries in a column."""
        return smooth_plan(scores, self.reg, most_per_column=self.k)
