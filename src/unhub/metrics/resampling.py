"""Means over resampled clusters of queries: one set of draws, however many methods and metrics."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unhub.foundation.types import AnyArray, FloatArray

CHUNK = 1 << 22
"""cluster weights held at once"""


def resampled_means(columns: FloatArray, clusters: AnyArray, *, rounds: int, seed: int) -> NDArray[np.float64]:
    """The mean of each column over the queries drawn in each round: (rounds, series).

    columns: (query, series); clusters: (query,). A round draws as many clusters as there are, with replacement, and
    all queries of a cluster with it. How often each is drawn makes a matrix, so that the means are one product.
    """
    cluster = np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(cluster).astype(np.float64)
    sums = np.stack([np.bincount(cluster, weights=column) for column in columns.T], axis=1)
    if rounds * sizes.size <= CHUNK:
        drawn = _draws(sizes.size, rounds, seed)
        return (drawn @ sums) / (drawn @ sizes)[:, None]
    rng = np.random.default_rng(seed)
    share = np.full(sizes.size, 1 / sizes.size)
    means = np.empty((rounds, columns.shape[1]))
    step = max(1, CHUNK // sizes.size)
    for start in range(0, rounds, step):
        drawn = rng.multinomial(sizes.size, share, size=min(step, rounds - start)).astype(np.float64)
        means[start : start + step] = (drawn @ sums) / (drawn @ sizes)[:, None]
    return means


@lru_cache(maxsize=2)
def _draws(size: int, rounds: int, seed: int) -> NDArray[np.float64]:
    """How often each of so many clusters is drawn in each round; kept for who asks again, as a live page does."""
    drawn = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=rounds).astype(np.float64)
    drawn.flags.writeable = False
    return drawn
