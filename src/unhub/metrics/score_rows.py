"""Checks of score rows at the door: their shape, their place, and no NaN."""

from __future__ import annotations

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.metrics.row_numbers import name_rows


def check_score_rows(scores: FloatArray, start: int, *, queries: int, columns: int) -> FloatArray:
    """The rows of the queries ``start``, ``start + 1``, .. in float32 or float64, or a sentence.

    float16 becomes float32 and whole numbers float64; -inf is a score like any other, NaN is not.
    """
    scores = np.asarray(scores)
    if scores.ndim != 2 or scores.shape[1] != columns:
        raise InputError(f"scores has shape {scores.shape}; expected (query, gallery) with {columns} columns")
    if not 0 <= start <= start + len(scores) <= queries:
        raise InputError(f"scores has {len(scores)} rows from query {start} on, but there are {queries} queries")
    if scores.dtype not in (np.float32, np.float64):
        scores = scores.astype(np.float32 if scores.dtype == np.float16 else np.float64)
    missing = np.isnan(scores.max(axis=1))
    if missing.any():
        wrong = np.concatenate((np.zeros(start, dtype=bool), missing))
        raise InputError(f"scores has NaN in {np.count_nonzero(missing)} rows ({name_rows(wrong, 'query')})")
    return scores
