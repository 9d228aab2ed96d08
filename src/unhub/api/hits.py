"""What a search gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unhub.foundation.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Hits:
    """The best targets of every query, best first: rows of the gallery, their ids, and s_ij + bias_j.

    rows, ids, scores: (query, k). Without ids of their own, targets go by their row.
    """

    rows: IntArray
    ids: AnyArray
    scores: FloatArray

    def __len__(self) -> int:
        return int(self.rows.shape[0])


def hits(rows: IntArray, scores: FloatArray, ids: Sequence[str] | None) -> Hits:
    """Hits whose ids are looked up by row."""
    return Hits(rows, rows if ids is None else np.asarray(ids, dtype=object)[rows], scores)
