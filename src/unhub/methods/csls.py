"""Cross-domain similarity local scaling (CSLS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.banks import Banks
from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import checked, count, strength_number
from unhub.foundation.types import FloatArray
from unhub.methods.nnn import top_mean


@dataclass(frozen=True)
class CSLS:
    """bias_j = -1/2 * mean of the k largest s_uj over the bank   [lample:18]

    The published 2 s_ij - r_i - r_j, halved; the query's own term r_i does not rank.
    """

    name: ClassVar[str] = "csls"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset({"query_weight"})

    k: int = 10
    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, k=count, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """The bias, from one read of the bank."""
        return closed_form(self.columns(banks, None))

    def columns(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-1/2 * mean of the k largest bank scores of any targets; k is clipped to the bank."""
        return -0.5 * top_mean(banks, self.k)
