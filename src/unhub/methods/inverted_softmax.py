"""Softmax over the queries of a target: IS, DIS, DualIS, DualDIS with banks, DSL over the test queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unhub.core.logsumexp import column_logsumexp as block_logsumexp
from unhub.core.parameters import Strength, Temperature, as_number, count, strength, temperature, validate
from unhub.foundation.types import BoolArray, FloatArray
from unhub.methods.interface import ClosedForm, Corrected, CorrectRows, OneTemperature, TwoTemperatures
from unhub.scores import Banks, activation_set, column_logsumexp


@dataclass(frozen=True)
class IS(ClosedForm, OneTemperature):
    """bias_j = -tau log sum_u exp(s_uj / tau)   [smith:17; pan:25, Eq. 1-3]

    One half-step of Sinkhorn: targets share equally, queries are left free.
    """

    name: ClassVar[str] = "is"
    title: ClassVar[str] = "IS"
    description: ClassVar[str] = "Divides each target by the sum of its bank scores, as a softmax over the bank."
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})
    softmax: ClassVar[bool] = True
    constants: ClassVar[Mapping[str, Any]] = {"tau": 0.02}

    tau: Temperature = "auto"
    strength: Strength = "auto"

    def __post_init__(self) -> None:
        validate(self, tau=temperature, strength=strength)

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-tau LSE_u(s_uj / tau + log w_u) + tau log b_j of any targets."""
        tau = as_number(self.tau)
        return tau * banks.log_prior() - column_logsumexp(banks.queries, tau, banks.row_potential(tau), banks.execution)


@dataclass(frozen=True)
class DIS(OneTemperature):
    """The IS bias for rows whose raw first target is in the activation set A; other rows stay raw   [bogolin:22]

    A = union over bank queries of their k best targets. A row is switched as a whole and both branches are in the
    unit of the scores. Not a bias: whether it is added depends on the query.
    """

    name: ClassVar[str] = "dis"
    title: ClassVar[str] = "DIS"
    description: ClassVar[str] = "Inverted softmax for the queries whose first answer is a known hub, and no others."
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})
    constants: ClassVar[Mapping[str, Any]] = {"tau": 0.02}

    tau: Temperature = "auto"
    k: int = 1

    def __post_init__(self) -> None:
        validate(self, tau=temperature, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows corrected where their raw first target is active."""
        bias = IS(tau=self.tau).estimate(banks).values
        active = activation_set(banks.queries, self.k, banks.execution)
        return lambda scores: scores + np.outer(first_is_active(scores, active), bias)


@dataclass(frozen=True)
class DISPaper(OneTemperature):
    """exp(s_ij / tau) / sum_u exp(s_uj / tau) if target j is active, else s_ij   [pan:25, appendix B, literally]

    It switches per target, so a row mixes probabilities with raw scores and ranks one against the other; it scores
    below no correction at all. Use ``dis``.
    """

    name: ClassVar[str] = "dis_paper"
    title: ClassVar[str] = "DIS (paper)"
    description: ClassVar[str] = "DIS as one paper prints it: it mixes probabilities and raw scores in a row; use dis."
    live: ClassVar[bool] = False
    audit: ClassVar[bool] = True
    constants: ClassVar[Mapping[str, Any]] = {"tau": 0.02}

    tau: Temperature = "auto"
    k: int = 1

    def __post_init__(self) -> None:
        validate(self, tau=temperature, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows by the literal formula, which mix two units."""
        tau = as_number(self.tau)
        active = activation_set(banks.queries, self.k, banks.execution)
        normaliser = column_logsumexp(banks.queries, tau, None, banks.execution)

        def correct(scores: FloatArray) -> FloatArray:
            return np.where(active, np.exp((scores - normaliser) / tau), scores)

        return correct


@dataclass(frozen=True)
class DualIS(ClosedForm, TwoTemperatures):
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
    strength: Strength = "auto"

    def __post_init__(self) -> None:
        validate(self, tau1=temperature, tau2=temperature, strength=strength)

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-lambda (LSE_u + LSE_v) + lambda log b_j of any targets."""
        tau1, tau2 = as_number(self.tau1), as_number(self.tau2)
        from_queries, from_targets = halves(banks, tau1, tau2)
        scale = joint_temperature(tau1, tau2)
        return scale * (banks.log_prior() - from_queries - from_targets)


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
        validate(self, tau1=temperature, tau2=temperature, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows corrected by the factors whose activation set holds their raw first target."""
        assert banks.targets is not None, "callers check Method.requires"
        tau1, tau2 = as_number(self.tau1), as_number(self.tau2)
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


@dataclass(frozen=True)
class DSL(OneTemperature):
    """s_ij * exp(s_ij / tau) / sum over queries of exp(s_ij / tau)   [cheng:21]

    Transductive: the softmax runs over the test queries. tau = 0.01 is the usual logit scale of 100.
    """

    name: ClassVar[str] = "dsl"
    title: ClassVar[str] = "DSL"
    description: ClassVar[str] = "Multiplies each score by its softmax over the test queries."
    constants: ClassVar[Mapping[str, Any]] = {"tau": 0.01}

    tau: Temperature = "auto"

    def __post_init__(self) -> None:
        validate(self, tau=temperature)

    def correct(self, scores: FloatArray) -> Corrected:
        """The product of each score and its share of the column."""
        tau = as_number(self.tau)
        s = scores.astype(np.float64)
        return Corrected(s * np.exp((s - block_logsumexp(s, tau)) / tau))


def first_is_active(scores: FloatArray, active: BoolArray) -> BoolArray:
    """Whether the raw first target of each row is in the activation set: (query,)."""
    first: BoolArray = active[scores.argmax(axis=1)]
    return first


def joint_temperature(tau1: float, tau2: float) -> float:
    """lambda = tau1 tau2 / (tau1 + tau2)"""
    return tau1 * tau2 / (tau1 + tau2)


def halves(banks: Banks, tau1: float, tau2: float) -> tuple[FloatArray, FloatArray]:
    """LSE_u(s_uj / tau1) over the query bank and LSE_v(s_vj / tau2) over the target bank."""
    assert banks.targets is not None, "callers check Method.requires"
    from_queries = column_logsumexp(banks.queries, tau1, banks.row_potential(tau1), banks.execution) / tau1
    return from_queries, column_logsumexp(banks.targets, tau2, None, banks.execution) / tau2
