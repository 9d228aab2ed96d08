"""No correction: the scores as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import checked, strength_number
from unhub.foundation.types import FloatArray
from unhub.methods.protocol import MethodDefaults
from unhub.scores import Banks


@dataclass(frozen=True)
class NoCorrection(MethodDefaults):
    """bias_j = 0"""

    name: ClassVar[str] = "none"
    title: ClassVar[str] = "no correction"
    description: ClassVar[str] = "The scores as they are."
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})

    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """Zero for every target."""
        return closed_form(self.bias_of(banks, None))

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """Zero for any targets."""
        return np.zeros(banks.queries.shape[1])
