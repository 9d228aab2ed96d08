"""Dual bank Sinkhorn normalisation (DBSN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.banks import Banks, JoinedBank
from unhub.core.bias import Bias
from unhub.core.parameters import (
    Temperature,
    checked,
    optional_count,
    optional_positive,
    settled,
    strength_number,
    temperature,
)
from unhub.foundation.types import FloatArray
from unhub.methods.sn import last_half_step, solve


@dataclass(frozen=True)
class DBSN:
    """SN on [S_bt, S_bb], targets and target bank side by side; the part of the targets is kept   [pan:25, Alg. A2]

    With an empty target bank this is SN.
    """

    name: ClassVar[str] = "dbsn"
    needs: ClassVar[frozenset[str]] = frozenset({"cross"})
    weighs: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})

    tau: Temperature = 0.01
    iterations: int | None = None
    tol: float | None = None
    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, tau=temperature, iterations=optional_count, tol=optional_positive, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """The bias of the gallery, from one read of both banks where their kernel can be kept."""
        assert banks.cross is not None, "callers check Method.needs"
        both = JoinedBank(banks.queries, banks.cross) if banks.cross.shape[1] else banks.queries
        return solve(both, banks, settled(self.tau), self.iterations, self.tol)

    def columns(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """The last half-step for any targets, exact: alpha holds all that the target bank contributed."""
        return last_half_step(banks, settled(self.tau), potentials)
