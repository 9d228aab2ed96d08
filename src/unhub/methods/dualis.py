"""Dual inverted softmax (DualIS): a query bank and a target bank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.banks import Banks, column_logsumexp
from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import Temperature, checked, settled, strength_number, temperature
from unhub.foundation.types import FloatArray
from unhub.methods.marginals import log_prior, row_potential


@dataclass(frozen=True)
class DualIS:
    """bias_j = -lambda (LSE_u(s_uj / tau1) + LSE_v(s_vj / tau2)), lambda = tau1 tau2 / (tau1 + tau2)   [wang:23]

    u runs over the query bank, v over the target bank.
    """

    name: ClassVar[str] = "dualis"
    needs: ClassVar[frozenset[str]] = frozenset({"targets"})
    weighs: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})

    tau1: Temperature = 0.02
    tau2: Temperature = 1.0
    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, tau1=temperature, tau2=temperature, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """The bias, from one read of each bank."""
        return closed_form(self.columns(banks, None))

    def columns(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-lambda (LSE_u + LSE_v) + lambda log b_j of any targets."""
        tau1, tau2 = settled(self.tau1), settled(self.tau2)
        from_queries, from_targets = halves(banks, tau1, tau2)
        scale = joint_temperature(tau1, tau2)
        return scale * (log_prior(banks) - from_queries - from_targets)


def joint_temperature(tau1: float, tau2: float) -> float:
    """lambda = tau1 tau2 / (tau1 + tau2)"""
    return tau1 * tau2 / (tau1 + tau2)


def halves(banks: Banks, tau1: float, tau2: float) -> tuple[FloatArray, FloatArray]:
    """LSE_u(s_uj / tau1) over the query bank and LSE_v(s_vj / tau2) over the target bank."""
    assert banks.targets is not None, "callers check Method.needs"
    from_queries = column_logsumexp(banks.queries, tau1, row_potential(banks, tau1)) / tau1
    return from_queries, column_logsumexp(banks.targets, tau2) / tau2
