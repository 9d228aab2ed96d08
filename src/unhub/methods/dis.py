"""Dynamic inverted softmax (DIS, QB-Norm)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.banks import Banks, activation_set
from unhub.core.parameters import Temperature, checked, count, temperature
from unhub.foundation.types import BoolArray, FloatArray
from unhub.methods.inverted_softmax import IS
from unhub.methods.protocol import CorrectRows


@dataclass(frozen=True)
class DIS:
    """The IS bias for rows whose raw first target is in the activation set A; other rows stay raw   [bogolin:22]

    A = union over bank queries of their k best targets. A row is switched as a whole and both branches are in the
    unit of the scores. Not a bias: whether it is added depends on the query.
    """

    name: ClassVar[str] = "dis"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})

    tau: Temperature = 0.02
    k: int = 1

    def __post_init__(self) -> None:
        checked(self, tau=temperature, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows corrected where their raw first target is active."""
        bias = IS(tau=self.tau).estimate(banks).values
        active = activation_set(banks.queries, self.k)
        return lambda scores: scores + np.outer(first_is_active(scores, active), bias)


def first_is_active(scores: FloatArray, active: BoolArray) -> BoolArray:
    """Whether the raw first target of each row is in the activation set: (query,)."""
    first: BoolArray = active[scores.argmax(axis=1)]
    return first
