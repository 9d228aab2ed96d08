"""Dual bank Sinkhorn normalisation (DBSN)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

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
from unhub.methods.protocol import OneTemperature
from unhub.methods.sn import balance, last_half_step
from unhub.scores import Banks, JoinedScores
from unhub.solvers.sinkhorn import most_rounds


@dataclass(frozen=True)
class DBSN(OneTemperature):
    """SN on [S_bt, S_bb], targets and target bank side by side; the part of the targets is kept   [pan:25, Alg. A2]

    With an empty target bank this is SN.
    """

    name: ClassVar[str] = "dbsn"
    title: ClassVar[str] = "DBSN"
    description: ClassVar[str] = "SN with a bank of other targets beside the gallery."
    requires: ClassVar[frozenset[str]] = frozenset({"cross"})
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})
    iterative: ClassVar[bool] = True
    potentials: ClassVar[bool] = True
    softmax: ClassVar[bool] = True
    constants: ClassVar[Mapping[str, Any]] = {"tau": 0.01, "iterations": 10}

    tau: Temperature = "auto"
    iterations: int | None = None
    tol: float | None = None
    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, tau=temperature, iterations=optional_count, tol=optional_positive, strength=strength_number)

    @property
    def rounds(self) -> int:
        """How many rounds it takes at the most."""
        return most_rounds(self.iterations, self.tol)

    def estimate(self, banks: Banks) -> Bias:
        """The bias of the gallery, from one read of both banks where their kernel can be kept."""
        assert banks.cross is not None, "callers check Method.requires"
        both = JoinedScores(banks.queries, banks.cross) if banks.cross.shape[1] else banks.queries
        return balance(both, banks, settled(self.tau), self.iterations, self.tol)

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """The last half-step for any targets, exact: alpha holds all that the target bank contributed."""
        return last_half_step(banks, settled(self.tau), potentials)
