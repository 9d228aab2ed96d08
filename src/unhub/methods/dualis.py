"""Dual inverted softmax: a query bank and a target bank, always (DualIS) or where a hub comes first (DualDIS)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import Temperature, checked, count, settled, strength_number, temperature
from unhub.foundation.types import FloatArray
from unhub.methods.dis import first_is_active
from unhub.methods.marginals import log_prior, row_potential
from unhub.methods.protocol import CorrectRows, TwoTemperatures
from unhub.scores import Banks, activation_set, column_logsumexp


@dataclass(frozen=True)
class DualIS(TwoTemperatures):
    """bias_j = -lambda (LSE_u(s_uj / tau1) + LSE_v(s_vj / tau2)), lambda = tau1 tau2 / (tau1 + tau2)   [wang:23]

    u runs over the query bank, v over the target bank.
    """

    name: ClassVar[str] = "dualis"
    title: ClassVar[str] = "DualIS"
    description: ClassVar[str] = "Inverted softmax over a query bank and a target bank together."
    requires: ClassVar[frozenset[str]] = frozenset({"targets"})
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})
    constants: ClassVar[Mapping[str, Any]] = {"tau1": 0.02, "tau2": 1.0}

    tau1: Temperature = "auto"
    tau2: Temperature = "auto"
    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, tau1=temperature, tau2=temperature, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """The bias, from one read of each bank."""
        return closed_form(self.bias_of(banks, None))

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-lambda (LSE_u + LSE_v) + lambda log b_j of any targets."""
        tau1, tau2 = settled(self.tau1), settled(self.tau2)
        from_queries, from_targets = halves(banks, tau1, tau2)
        scale = joint_temperature(tau1, tau2)
        return scale * (log_prior(banks) - from_queries - from_targets)


@dataclass(frozen=True)
class DualDIS(TwoTemperatures):
    """s_ij - lambda (A1_i LSE_u(s_uj / tau1) + A2_i LSE_v(s_vj / tau2))   [wang:23]

    A1_i, A2_i: whether the raw first target of row i is among the k best of any item of the query bank, of the
    target bank. The product of two DIS factors, each with its own activation set, in the unit of the scores.
    """

    name: ClassVar[str] = "dualdis"
    title: ClassVar[str] = "DualDIS"
    description: ClassVar[str] = "DualIS for the queries whose first answer is a known hub, and no others."
    requires: ClassVar[frozenset[str]] = frozenset({"targets"})
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight"})
    constants: ClassVar[Mapping[str, Any]] = {"tau1": 0.02, "tau2": 1.0}

    tau1: Temperature = "auto"
    tau2: Temperature = "auto"
    k: int = 1

    def __post_init__(self) -> None:
        checked(self, tau1=temperature, tau2=temperature, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows corrected by the factors whose activation set holds their raw first target."""
        assert banks.targets is not None, "callers check Method.requires"
        tau1, tau2 = settled(self.tau1), settled(self.tau2)
        scale = joint_temperature(tau1, tau2)
        sums = halves(banks, tau1, tau2)
        active = (
            activation_set(banks.queries, self.k, banks.execution),
            activation_set(banks.targets, self.k, banks.execution),
        )

        def correct(scores: FloatArray) -> FloatArray:
            switched = (np.outer(first_is_active(scores, on), lse) for on, lse in zip(active, sums, strict=True))
            return scores - scale * sum(switched)

        return correct


def joint_temperature(tau1: float, tau2: float) -> float:
    """lambda = tau1 tau2 / (tau1 + tau2)"""
    return tau1 * tau2 / (tau1 + tau2)


def halves(banks: Banks, tau1: float, tau2: float) -> tuple[FloatArray, FloatArray]:
    """LSE_u(s_uj / tau1) over the query bank and LSE_v(s_vj / tau2) over the target bank."""
    assert banks.targets is not None, "callers check Method.requires"
    from_queries = column_logsumexp(banks.queries, tau1, row_potential(banks, tau1), banks.execution) / tau1
    return from_queries, column_logsumexp(banks.targets, tau2, None, banks.execution) / tau2
