"""Dual softmax (DSL)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unhub.core.logsumexp import column_logsumexp
from unhub.core.parameters import Temperature, checked, settled, temperature
from unhub.foundation.types import FloatArray
from unhub.methods.protocol import OneTemperature


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
        checked(self, tau=temperature)

    def correct(self, scores: FloatArray) -> FloatArray:
        """The product of each score and its share of the column."""
        tau = settled(self.tau)
        s = scores.astype(np.float64)
        corrected: FloatArray = s * np.exp((s - column_logsumexp(s, tau)) / tau)
        return corrected
