"""No correction: the scores as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.banks import Banks
from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import checked, strength_number
from unhub.foundation.types import FloatArray


@dataclass(frozen=True)
class NoCorrection:
    """bias_j = 0"""

    name: ClassVar[str] = "none"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})

    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """Zero for every target."""
        return closed_form(self.columns(banks, None))

    def columns(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """Zero for any targets."""
        return np.zeros(banks.queries.shape[1])
