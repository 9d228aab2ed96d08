"""Localised centring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.banks import Banks
from unhub.core.parameters import checked, count, positive
from unhub.methods.nnn import top_mean
from unhub.methods.protocol import CorrectRows


@dataclass(frozen=True)
class Centering:
    """s_ij - affinity_j^gamma, affinity_j the mean of the k largest s_uj over the bank   [hara:15]

    A negative affinity keeps its sign. With gamma = 1 this ranks as ``nnn`` with alpha = 1, which can also be served.
    """

    name: ClassVar[str] = "centering"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset({"query_weight"})

    k: int = 10
    gamma: float = 1.0

    def __post_init__(self) -> None:
        checked(self, k=count, gamma=positive)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows with each target's local affinity taken out."""
        affinity = top_mean(banks, self.k)
        centre = np.sign(affinity) * np.abs(affinity) ** self.gamma
        return lambda scores: scores - centre
