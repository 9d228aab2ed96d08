"""Bootstrap intervals of many means at once: one set of resamples for every method and metric."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unhub.foundation.types import FloatArray

CHUNK = 1 << 22
"""cluster weights held at once"""


def bootstrap_means(
    columns: FloatArray, *, clusters: ArrayLike, rounds: int = 1000, level: float = 0.95, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends of the percentile interval of each column's mean: (series,) twice.

    columns: (query, series), one value per query; rows with a NaN (queries not judged) are left out. clusters:
    (query,); the queries of a cluster are drawn together. All columns share the resamples, so that drawing costs the
    same for one method as for twenty.
    """
    judged = ~np.isnan(columns).any(axis=1)
    _, cluster = np.unique(np.asarray(clusters)[judged], return_inverse=True)
    sizes = np.bincount(cluster).astype(np.float64)
    sums = np.stack([np.bincount(cluster, weights=column) for column in columns[judged].T], axis=1)
    rng = np.random.default_rng(seed)
    means = np.empty((rounds, columns.shape[1]))
    step = max(1, CHUNK // sizes.size)
    for start in range(0, rounds, step):
        height = min(step, rounds - start)
        drawn = rng.multinomial(sizes.size, np.full(sizes.size, 1 / sizes.size), size=height).astype(
            np.float64
        )
        means[start : start + height] = (drawn @ sums) / (drawn @ sizes)[:, None]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high
