"""How unevenly the targets are retrieved: counts of appearances, and what is read off them.

The k-occurrence N_k(j) is how many queries have target j among their k best. Every target counts, those that
no query retrieves with a zero: leaving the zeros out makes a gallery of hubs look even.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray


def k_occurrence(top: IntArray, gallery: int, k: int | None = None) -> NDArray[np.int64]:
    """N_k of every target, zeros included: (gallery,).

    top: (query, depth), the best targets of each query, best first. ``k`` is clipped to the gallery; None
    takes all columns.

    >>> k_occurrence(np.array([[0, 1], [0, 2]]), gallery=4, k=1).tolist()
    [2, 0, 0, 0]
    """
    depth = top.shape[1]
    k = depth if k is None else min(k, gallery)
    if k > depth:
        raise InputError(
            f"counting the top {k} needs the best {k} targets of each query, but {depth} were kept; "
            f"rank with depth={k}."
        )
    ids = top[:, :k].ravel()
    if ids.size and (ids.min() < 0 or ids.max() >= gallery):
        wrong = ids[(ids < 0) | (ids >= gallery)][0]
        raise InputError("top", f"holds target {wrong}, but the gallery has {gallery} targets, counted from 0")
    return np.bincount(ids, minlength=gallery)


def skewness(counts: ArrayLike) -> float:
    """The third standardised moment, mean((N - mean)^3) / std^3: scipy's biased skewness.

    0 is symmetric; hubs make it positive. If all counts are equal it is 0.0 (scipy says NaN).

    >>> skewness([3, 0, 0]) > skewness([1, 1, 1])
    True
    """
    n = np.asarray(counts, dtype=np.float64)
    deviation = n - n.mean()
    variance = float(np.mean(deviation**2))
    return float(np.mean(deviation**3)) / variance**1.5 if variance > 0 else 0.0


def antihub_share(counts: ArrayLike) -> float:
    """The share of targets that are never retrieved.

    >>> antihub_share([2, 0, 1, 0])
    0.5
    """
    return float(np.mean(np.asarray(counts) == 0))


def largest_count(counts: ArrayLike) -> float:
    """How often the greatest hub is retrieved: max N_k."""
    return float(np.max(counts))


def robin_hood(counts: ArrayLike) -> float:
    """The share of all appearances that would have to change hands for all targets to have the same.

    sum_j |N_j - mean| / (2 sum_j N_j): 0 is even, 1 - 1/gallery is one hub for everything.

    >>> robin_hood([2, 0])
    0.5
    """
    n = np.asarray(counts, dtype=np.float64)
    total = float(n.sum())
    return float(np.abs(n - n.mean()).sum()) / (2 * total) if total else 0.0


def gini(counts: ArrayLike) -> float:
    """The Gini coefficient: sum_i (2i - n - 1) N_(i) / (n sum N), counts ascending.

    0 is even, 1 - 1/gallery is one hub for everything.

    >>> gini([4, 0])
    0.5
    """
    n = np.sort(np.asarray(counts, dtype=np.float64))
    total = float(n.sum())
    position = 2 * np.arange(1, n.size + 1) - n.size - 1
    return float(position @ n) / (n.size * total) if total else 0.0


def sparsity(matrix: FloatArray) -> float:
    """The share of entries that are exactly zero, between 0 and 1.

    >>> sparsity(np.array([[0.0, 1.0], [0.0, 0.0]]))
    0.75
    """
    if not matrix.size:
        raise InputError(f"the matrix has shape {matrix.shape}; an empty matrix has no share of zeros.")
    return 1.0 - float(np.count_nonzero(matrix)) / matrix.size
