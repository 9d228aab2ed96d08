"""No correction: the scores as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unhub.core.parameters import strength, validate
from unhub.foundation.types import FloatArray
from unhub.methods.interface import ClosedForm, Method
from unhub.scores import Banks


def _number(name: str, value: Any) -> float:
    """The strength, which changes nothing here; "auto" is 1."""
    given = strength(name, value)
    return 1.0 if given == "auto" else given


@dataclass(frozen=True)
class NoCorrection(ClosedForm, Method):
    """bias_j = 0"""

    name: ClassVar[str] = "none"
    title: ClassVar[str] = "no correction"
    description: ClassVar[str] = "The scores as they are."
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})

    strength: float = 1.0

    def __post_init__(self) -> None:
        validate(self, strength=_number)

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """Zero for any targets."""
        return np.zeros(banks.queries.shape[1])
