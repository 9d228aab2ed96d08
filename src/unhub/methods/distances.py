"""Distances d = 1 - s and neighbourhoods, shared by the classic methods."""

from __future__ import annotations

import numpy as np

from unhub.banks import Banks, column_top
from unhub.core.topk import top_k
from unhub.foundation.types import FloatArray

SMALLEST = 1e-12
"""distances and deviations below this are rounding of identical items"""


def target_neighbours(banks: Banks, k: int) -> FloatArray:
    """Distances of each target to its k nearest bank queries, nearest first: (k, gallery)."""
    return 1.0 - column_top(banks.queries, k)[0]


def query_neighbours(scores: FloatArray, k: int) -> FloatArray:
    """Distances of each query to its k nearest targets, nearest first: (query, k) float64."""
    best = top_k(scores, k)[0].astype(np.float64)
    finite = max(1, int(np.isfinite(best).all(axis=0).sum()))
    return 1.0 - best[:, :finite]


def at_least_smallest(values: FloatArray) -> FloatArray:
    """The values, those below SMALLEST lifted to it, for divisions."""
    return np.maximum(values, SMALLEST)
