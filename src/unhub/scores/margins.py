"""Margins: which of the best targets cannot change while every corrected score is off by at most an error.

Two scores keep their order if their gap is more than twice the error. So, with c_1 >= c_2 >= ... the corrected scores
of a query and e the error of one of them,

    the target at place p stays among the k best   if c_p - c_(k+1) > 2 e,
    the target at place p stays at that place      if c_(p-1) - c_p > 2 e and c_p - c_(p+1) > 2 e.

Both are sharp: with a smaller gap, some error within the bound changes the result.
"""

from __future__ import annotations

import numpy as np

from unhub.foundation.types import BoolArray, FloatArray


def staying_hits(best: FloatArray, errors: FloatArray, k: int) -> BoolArray:
    """Whether each of the k best targets of a query must stay among them: (query, k).

    best: (query, k + 1) corrected scores, best first; fewer where the gallery is smaller.
    errors: (query,) how far a corrected score of a query may be off.
    k: how many of the best count.

    >>> staying_hits(np.array([[0.9, 0.6, 0.5]]), np.array([0.1]), 2).tolist()
    [[True, False]]
    """
    scores, rest = _with_end(best, k)
    return scores[:, :k] - rest > 2 * errors[:, None]


def staying_places(best: FloatArray, errors: FloatArray, k: int) -> BoolArray:
    """Whether each of the k best targets of a query must keep its place: (query, k).

    best: (query, k + 1) corrected scores, best first; fewer where the gallery is smaller.
    errors: (query,) how far a corrected score of a query may be off.
    k: how many of the best count.

    >>> staying_places(np.array([[0.9, 0.6, 0.5]]), np.array([0.1]), 2).tolist()
    [[True, False]]
    """
    scores, _ = _with_end(best, k)
    below = scores[:, :-1] - scores[:, 1:] > 2 * errors[:, None]
    above = np.ones_like(below)
    above[:, 1:] = below[:, :-1]
    return above & below


def _with_end(best: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """The scores of the best and of the next one, float64; nothing comes after the last target of a gallery."""
    scores = best[:, : k + 1].astype(np.float64)
    if scores.shape[1] <= k:
        scores = np.column_stack((scores, np.full(len(scores), -np.inf)))
    return scores, scores[:, -1:]
