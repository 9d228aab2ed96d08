"""Non-iterative contextual dissimilarity (NICDM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.banks import Banks
from unhub.core.parameters import checked, count
from unhub.foundation.types import FloatArray
from unhub.methods.distances import at_least_smallest, query_neighbours, target_neighbours
from unhub.methods.protocol import CorrectRows


@dataclass(frozen=True)
class NICDM:
    """1 - d_ij / sqrt(mu_i mu_j), d = 1 - s, mu the mean distance to the k nearest   [schnitzer:12]

    A target's neighbours are bank queries, a query's are targets.
    """

    name: ClassVar[str] = "nicdm"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset()

    k: int = 10

    def __post_init__(self) -> None:
        checked(self, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows of one minus the scaled distance."""
        mu_target = at_least_smallest(target_neighbours(banks, self.k).mean(axis=0))

        def correct(scores: FloatArray) -> FloatArray:
            mu_query = at_least_smallest(query_neighbours(scores, self.k).mean(axis=1, keepdims=True))
            corrected: FloatArray = 1.0 - (1.0 - scores) / np.sqrt(mu_query * mu_target)
            return corrected

        return correct
