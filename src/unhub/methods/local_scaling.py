"""Local scaling."""

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
class LocalScaling:
    """exp(-d_ij^2 / (sigma_i sigma_j)), d = 1 - s, sigma the distance to the k-th neighbour   [zelnik:04]

    A target's neighbours are bank queries, a query's are targets.
    """

    name: ClassVar[str] = "local_scaling"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset()

    k: int = 10

    def __post_init__(self) -> None:
        checked(self, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows of scaled similarities in (0, 1]."""
        sigma_target = at_least_smallest(target_neighbours(banks, self.k)[-1])

        def correct(scores: FloatArray) -> FloatArray:
            sigma_query = at_least_smallest(query_neighbours(scores, self.k)[:, -1:])
            scaled: FloatArray = np.exp(-((1.0 - scores) ** 2) / (sigma_query * sigma_target))
            return scaled

        return correct
