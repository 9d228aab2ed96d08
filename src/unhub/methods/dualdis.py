"""Dual dynamic inverted softmax (DualDIS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.banks import Banks, activation_set
from unhub.core.parameters import Temperature, checked, count, settled, temperature
from unhub.foundation.types import FloatArray
from unhub.methods.dis import first_is_active
from unhub.methods.dualis import halves, joint_temperature
from unhub.methods.protocol import CorrectRows


@dataclass(frozen=True)
class DualDIS:
    """s_ij - lambda (A1_i LSE_u(s_uj / tau1) + A2_i LSE_v(s_vj / tau2))   [wang:23]

    A1_i, A2_i: whether the raw first target of row i is among the k best of any item of the query bank, of the
    target bank. The product of two DIS factors, each with its own activation set, in the unit of the scores.
    """

    name: ClassVar[str] = "dualdis"
    needs: ClassVar[frozenset[str]] = frozenset({"targets"})
    weighs: ClassVar[frozenset[str]] = frozenset({"query_weight"})

    tau1: Temperature = 0.02
    tau2: Temperature = 1.0
    k: int = 1

    def __post_init__(self) -> None:
        checked(self, tau1=temperature, tau2=temperature, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows corrected by the factors whose activation set holds their raw first target."""
        assert banks.targets is not None, "callers check Method.needs"
        tau1, tau2 = settled(self.tau1), settled(self.tau2)
        scale = joint_temperature(tau1, tau2)
        sums = halves(banks, tau1, tau2)
        active = activation_set(banks.queries, self.k), activation_set(banks.targets, self.k)

        def correct(scores: FloatArray) -> FloatArray:
            switched = (np.outer(first_is_active(scores, on), lse) for on, lse in zip(active, sums, strict=True))
            return scores - scale * sum(switched)

        return correct
