"""Inverted softmax (IS)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import Temperature, checked, settled, strength_number, temperature
from unhub.foundation.types import FloatArray
from unhub.methods.marginals import log_prior, row_potential
from unhub.methods.protocol import OneTemperature
from unhub.scores import Banks, column_logsumexp


@dataclass(frozen=True)
class IS(OneTemperature):
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
    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, tau=temperature, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """The bias, from one read of the bank."""
        return closed_form(self.bias_of(banks, None))

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-tau LSE_u(s_uj / tau + log w_u) + tau log b_j of any targets."""
        tau = settled(self.tau)
        return tau * log_prior(banks) - column_logsumexp(banks.queries, tau, row_potential(banks, tau), banks.execution)
