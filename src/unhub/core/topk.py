"""The k best columns of every row, exact, ties to the lower index."""

from __future__ import annotations

import numpy as np

from unhub.foundation.types import FloatArray, IntArray


def top_k(scores: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """The k largest scores of each row and their columns, best first; equal scores go to the lower column.

    scores: (query, gallery); k is clipped to the number of columns. Returns (query, k) twice.

    >>> values, columns = top_k(np.array([[0.1, 0.9, 0.9, 0.2]]), 3)
    >>> columns.tolist(), values.tolist()
    ([[1, 2, 3]], [[0.9, 0.9, 0.2]])
    """
    n = scores.shape[1]
    k = min(k, n)
    if k == 1:
        best = scores.argmax(axis=1)[:, None]
        return np.take_along_axis(scores, best, axis=1), best
    if k == n:
        columns = np.argsort(-scores, axis=1, kind="stable")
        return np.take_along_axis(scores, columns, axis=1), columns
    edge = np.partition(scores, n - k, axis=1)[:, n - k, None]
    kept = scores >= edge
    tied = np.flatnonzero(kept.sum(axis=1) > k)
    for row in tied:
        kept[row] = False
        kept[row, np.argsort(-scores[row], kind="stable")[:k]] = True
    columns = (np.flatnonzero(kept) % n).reshape(-1, k)
    values = np.take_along_axis(scores, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(columns, order, axis=1)
