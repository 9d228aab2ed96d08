"""Sinkhorn normalisation (SN)."""

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
from unhub.methods.marginals import log_prior, query_marginal, target_marginal
from unhub.methods.protocol import OneTemperature
from unhub.scores import Banks, ScoreSource, SinkhornOperator, column_logsumexp, spread
from unhub.solvers.sinkhorn import most_rounds, solve


@dataclass(frozen=True)
class SN(OneTemperature):
    """bias_j = tau log beta_j after T rounds of alpha = a / (xi beta), beta = b / (xi' alpha)   [pan:25, Alg. A1]

    xi = exp(S / tau), a and b uniform unless marginals are given. ``iterations`` is 10; with ``tol`` the rounds stop
    once the row-marginal error is at most tol (and go on to 1,000 unless ``iterations`` says otherwise). With float32
    scores the error does not fall below about 1e-6.
    """

    name: ClassVar[str] = "sn"
    title: ClassVar[str] = "SN"
    description: ClassVar[str] = "Sinkhorn balance of bank queries and targets: each target takes an equal share."
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
        """The bias, from one read of the bank where its kernel can be kept, otherwise from one for each round."""
        return balance(banks.queries, banks, settled(self.tau), self.iterations, self.tol)

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """tau (log b - LSE_u(s_uj / tau + log alpha_u)) of any targets: the last half-step, exact."""
        return last_half_step(banks, settled(self.tau), potentials)


def balance(source: ScoreSource, banks: Banks, tau: float, iterations: int | None, tol: float | None) -> Bias:
    """The bias of the gallery from Sinkhorn potentials of the source, whose first columns it is."""
    gallery = banks.queries.shape[1]
    a, b = query_marginal(banks), target_marginal(banks, extra=source.shape[1] - gallery)
    largest = banks.largest
    if largest is not None and banks.cross is not None and source is not banks.queries:
        largest = max(largest, spread(banks.cross).largest)
    operator = SinkhornOperator(source, tau, a, banks.execution, observer=banks.observer, largest=largest)
    return solve(operator, tau=tau, a=a, b=b, gallery=gallery, iterations=iterations, tol=tol, observer=banks.observer)


def last_half_step(banks: Banks, tau: float, potentials: FloatArray | None) -> FloatArray:
    """tau (log(n b_j) - LSE_u(s_uj / tau + log(n alpha_u))), from the potentials of a fit."""
    assert potentials is not None, "Sinkhorn methods save their potentials"
    return tau * log_prior(banks) - column_logsumexp(banks.queries, tau, potentials, banks.execution)
