"""Plans of optimal transport between the test queries and the gallery: the ablations of the DBSN paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.core.parameters import count, positive, validate
from unhub.foundation.types import FloatArray
from unhub.methods.interface import Corrected, Method
from unhub.solvers.transport import assignment, smooth_plan, transport_plan

MISSED = 0.1
"""share of a query's mass that a regularised plan may miss without a note"""


@dataclass(frozen=True)
class OTN(Method):
    """The plan of the unregularised transport problem with cost 1 - s and uniform marginals   [pan:25, ablation]"""

    name: ClassVar[str] = "otn"
    title: ClassVar[str] = "OTN"
    description: ClassVar[str] = "The optimal transport plan between the test queries and the gallery."
    sparse: ClassVar[bool] = True

    def correct(self, scores: FloatArray) -> Corrected:
        """The optimal plan (query, gallery), float64, most entries zero."""
        plan, problem = transport_plan(scores)
        return Corrected(plan, () if problem is None else (f"the transport problem did not finish: {problem}",))


@dataclass(frozen=True)
class HN(Method):
    """The optimal assignment of queries to targets as a matrix of zeros and ones   [pan:25, ablation]"""

    name: ClassVar[str] = "hn"
    title: ClassVar[str] = "HN"
    description: ClassVar[str] = "The Hungarian assignment of test queries to targets."
    sparse: ClassVar[bool] = True

    def correct(self, scores: FloatArray) -> Corrected:
        """One where a query is assigned to a target, zero elsewhere."""
        return Corrected(assignment(scores))


@dataclass(frozen=True)
class L2N(Method):
    """The plan of transport with (reg / 2) * squared L2 regularisation, cost 1 - s   [blondel:18; pan:25, ablation]"""

    name: ClassVar[str] = "l2n"
    title: ClassVar[str] = "L2N"
    description: ClassVar[str] = "A transport plan with quadratic regularisation, which keeps it sparse."
    sparse: ClassVar[bool] = True

    reg: float = 0.05

    def __post_init__(self) -> None:
        validate(self, reg=positive)

    def correct(self, scores: FloatArray) -> Corrected:
        """The plan (query, gallery), float64, sparse."""
        return _smooth(self, scores, None)


@dataclass(frozen=True)
class SparseK(Method):
    """The plan of transport with at most k nonzeros per column, cost 1 - s   [liu:23; pan:25, ablation]"""

    name: ClassVar[str] = "sparse_k"
    title: ClassVar[str] = "sparse-k"
    description: ClassVar[str] = "A transport plan with at most k queries for each target (M1N, M5N)."
    sparse: ClassVar[bool] = True

    k: int = 1
    reg: float = 0.05

    def __post_init__(self) -> None:
        validate(self, k=count, reg=positive)

    def correct(self, scores: FloatArray) -> Corrected:
        """The plan (query, gallery), float64, at most k entries in a column."""
        return _smooth(self, scores, self.k)


def _smooth(method: L2N | SparseK, scores: FloatArray, most_per_column: int | None) -> Corrected:
    """The regularised plan, with a note if it misses the share of a query."""
    plan = smooth_plan(scores, method.reg, most_per_column=most_per_column)
    missed = float(np.abs(plan.sum(axis=1) * len(plan) - 1).max())
    if missed <= MISSED:
        return Corrected(plan)
    which = method.name if most_per_column is None else f"{method.name}(k={most_per_column})"
    note = (
        f"the plan of {which} misses the share of a query by up to {missed:.0%}: the solver could not satisfy reg = "
        f"{method.reg:g}; a larger reg is easier."
    )
    return Corrected(plan, (note,))
