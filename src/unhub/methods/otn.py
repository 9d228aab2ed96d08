"""Optimal transport normalisation (OTN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unhub.foundation.types import FloatArray
from unhub.solvers.transport import transport_plan


@dataclass(frozen=True)
class OTN:
    """The plan of the unregularised transport problem with cost 1 - s and uniform marginals   [pan:25, ablation]"""

    name: ClassVar[str] = "otn"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset()

    def correct(self, scores: FloatArray) -> FloatArray:
        """The optimal plan (query, gallery), float64, most entries zero."""
        return transport_plan(scores)
