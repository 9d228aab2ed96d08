"""Distribution normalisation (DN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.banks import Banks, column_means
from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import checked, not_negative, strength_number
from unhub.foundation.types import FloatArray


@dataclass(frozen=True)
class DN:
    """bias_j = -w * mean_u s_uj   [zhou:23]

    The query side of the published form, -w * mean over targets of s_iv, does not rank.
    """

    name: ClassVar[str] = "dn"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset({"query_weight"})

    w: float = 0.5
    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, w=not_negative, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """The bias, from one read of the bank."""
        return closed_form(self.columns(banks, None))

    def columns(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-w * mean bank score of any targets."""
        return -self.w * column_means(banks.queries, banks.query_weight)
