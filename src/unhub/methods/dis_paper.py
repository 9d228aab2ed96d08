"""DIS as one paper printed it, kept for audit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.banks import Banks, activation_set, column_logsumexp
from unhub.core.parameters import Temperature, checked, count, settled, temperature
from unhub.foundation.errors import UnhubWarning
from unhub.foundation.types import FloatArray
from unhub.methods.protocol import CorrectRows


@dataclass(frozen=True)
class DISPaper:
    """exp(s_ij / tau) / sum_u exp(s_uj / tau) if target j is active, else s_ij   [pan:25, appendix B, literally]

    It switches per target, so a row mixes probabilities with raw scores and ranks one against the other; it scores
    below no correction at all. Use ``dis``.
    """

    name: ClassVar[str] = "dis_paper"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset()

    tau: Temperature = 0.02
    k: int = 1

    def __post_init__(self) -> None:
        checked(self, tau=temperature, k=count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """The literal formula; warns, because its rows mix two units."""
        warnings.warn(
            "dis_paper mixes probabilities and raw scores within a row and is kept for audit only; use dis.",
            UnhubWarning,
            stacklevel=2,
        )
        tau = settled(self.tau)
        active = activation_set(banks.queries, self.k)
        normaliser = column_logsumexp(banks.queries, tau)

        def correct(scores: FloatArray) -> FloatArray:
            return np.where(active, np.exp((scores - normaliser) / tau), scores)

        return correct
