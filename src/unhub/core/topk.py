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


def merge_top(
    left_scores: FloatArray, left: IntArray, right_scores: FloatArray, right: IntArray, k: int
) -> tuple[FloatArray, IntArray]:
    """The k best of two lists of each row, which hold different columns: (query, k) twice, ties to the lower column.

    >>> merge_top(np.array([[0.9, 0.1]]), np.array([[5, 7]]), np.array([[0.9]]), np.array([[2]]), 2)[1].tolist()
    [[2, 5]]
    """
    scores = np.concatenate((left_scores, right_scores), axis=1)
    columns = np.concatenate((left, right), axis=1)
    order = np.lexsort((columns, -scores), axis=1)[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(columns, order, axis=1)
