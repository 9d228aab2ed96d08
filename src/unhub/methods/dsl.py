"""Dual softmax (DSL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.core.logsumexp import column_logsumexp
from unhub.core.parameters import Temperature, checked, settled, temperature
from unhub.foundation.types import FloatArray


@dataclass(frozen=True)
class DSL:
    """s_ij * exp(s_ij / tau) / sum over queries of exp(s_ij / tau)   [cheng:21]

    Transductive: the softmax runs over the test queries. tau = 0.01 is the usual logit scale of 100.
    """

    name: ClassVar[str] = "dsl"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset()

    tau: Temperature = 0.01

    def __post_init__(self) -> None:
        checked(self, tau=temperature)

    def correct(self, scores: FloatArray) -> FloatArray:
        """The product of each score and its share of the column."""
        tau = settled(self.tau)
        s = scores.astype(np.float64)
        corrected: FloatArray = s * np.exp((s - column_logsumexp(s, tau)) / tau)
        return corrected
