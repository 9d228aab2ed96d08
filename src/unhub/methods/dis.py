"""Dynamic inverted softmax (DIS, QB-Norm), and its formula as one paper printed it, kept for audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unhub.core.parameters import Temperature, checked, count, settled, temperature
from unhub.foundation.types import BoolArray, FloatArray
from unhub.methods.inverted_softmax import IS
from unhub.methods.protocol import CorrectRows, OneTemperature
from unhub.scores import Banks, activation_set, column_logsumexp


@dataclass(frozen=True)
class DIS(OneTemperature):
    """The IS bias for rows whose raw first target is in the activation set A; other rows stay raw   [bogolin:22]

    A = union over bank queries of their k best targets. A row is switched as a whole and both branches are in the
    unit of the scores. Not a bias: whether it is added depends on the query.
    """

    name: ClassVar[str] = "dis"
    title: ClassVar[str] = "DIS"
    description: ClassVar[str] = "Inverted softmax for the queries whose first answer is a known hub, and no others."
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})
    constants: ClassVar[Mapping[str, Any]] = {"tau": 0.02}

    tau: Temperature = "auto"
    k: int = 1

    def __post_init__(self) -> None:
        checked(self, tau=temperature, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows corrected where their raw first target is active."""
        bias = IS(tau=self.tau).estimate(banks).values
        active = activation_set(banks.queries, self.k, banks.execution)
        return lambda scores: scores + np.outer(first_is_active(scores, active), bias)


@dataclass(frozen=True)
class DISPaper(OneTemperature):
    """exp(s_ij / tau) / sum_u exp(s_uj / tau) if target j is active, else s_ij   [pan:25, appendix B, literally]

    It switches per target, so a row mixes probabilities with raw scores and ranks one against the other; it scores
    below no correction at all. Use ``dis``.
    """

    name: ClassVar[str] = "dis_paper"
    title: ClassVar[str] = "DIS (paper)"
    description: ClassVar[str] = "DIS as one paper prints it: it mixes probabilities and raw scores in a row; use dis."
    live: ClassVar[bool] = False
    audit: ClassVar[bool] = True
    constants: ClassVar[Mapping[str, Any]] = {"tau": 0.02}

    tau: Temperature = "auto"
    k: int = 1

    def __post_init__(self) -> None:
        checked(self, tau=temperature, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows by the literal formula, which mix two units."""
        tau = settled(self.tau)
        active = activation_set(banks.queries, self.k, banks.execution)
        normaliser = column_logsumexp(banks.queries, tau, None, banks.execution)

        def correct(scores: FloatArray) -> FloatArray:
            return np.where(active, np.exp((scores - normaliser) / tau), scores)

        return correct


def first_is_active(scores: FloatArray, active: BoolArray) -> BoolArray:
    """Whether the raw first target of each row is in the activation set: (query,)."""
    first: BoolArray = active[scores.argmax(axis=1)]
    return first
