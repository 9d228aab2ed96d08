"""Distribution normalisation (DN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import checked, not_negative, strength_number
from unhub.foundation.types import FloatArray
from unhub.methods.protocol import MethodDefaults
from unhub.scores import Banks, column_means


@dataclass(frozen=True)
class DN(MethodDefaults):
    """bias_j = -w * mean_u s_uj   [zhou:23]

    The query side of the published form, -w * mean over targets of s_iv, does not rank.
    """

    name: ClassVar[str] = "dn"
    title: ClassVar[str] = "DN"
    description: ClassVar[str] = "Takes a share of each target's mean bank score off its scores."
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight"})

    w: float = 0.5
    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, w=not_negative, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """The bias, from one read of the bank."""
        return closed_form(self.bias_of(banks, None))

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-w * mean bank score of any targets."""
        return -self.w * column_means(banks.queries, banks.query_weight, banks.execution)
