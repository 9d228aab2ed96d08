"""How sure a mean over queries is: the bootstrap, resampling clusters of queries that belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.metrics.paired_values import judged_values, paired_values

CHUNK = 1 << 20  # cluster draws held at once


@dataclass(frozen=True)
class Interval:
    """A mean over queries (or a difference of two) with its bootstrap percentile interval."""

    value: float
    low: float
    high: float
    level: float
    rounds: int
    seed: int


def bootstrap_mean(
    values: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    rounds: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The mean of per-query values and its interval; NaN values (queries not judged) are left out.

    clusters: (query,), equal ids for queries that rise and fall together, such as the captions of one target
    (see `Relevance.clusters`); they are drawn together, with replacement. Without clusters each query is
    drawn alone.

    >>> bootstrap_mean([1, 0, 1, 1], seed=1).value
    0.75
    """
    array, judged = judged_values(values)
    ids = np.arange(array.size) if clusters is None else np.asarray(clusters)
    if ids.shape != array.shape:
        raise InputError(
            f"clusters has shape {ids.shape} but there are {array.size} queries; give one id for each"
        )
    if not 0 < level < 1:
        raise InputError(f"level is {level}; an interval's level lies between 0 and 1, such as 0.95")
    if rounds < 1:
        raise InputError(f"rounds is {rounds}; resample at least once")
    array, ids = array[judged], ids[judged]
    means = _resampled_means(array, ids, rounds, seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(array.mean()), float(low), float(high), level, rounds, seed)


def bootstrap_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    rounds: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The mean of first - second over the same queries, and its interval: each query is its own control."""
    paired_values(first, second)
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return bootstrap_mean(difference, clusters=clusters, rounds=rounds, level=level, seed=seed)


def _resampled_means(
    values: NDArray[np.float64], ids: NDArray[np.int64], rounds: int, seed: int
) -> NDArray[np.float64]:
    """The mean over queries in each round: (rounds,). A round draws as many clusters as there are."""
    cluster = np.unique(ids, return_inverse=True)[1]
    sums, sizes = np.bincount(cluster, weights=values), np.bincount(cluster)
    rng = np.random.default_rng(seed)
    step = max(1, CHUNK // sums.size)
    means = np.empty(rounds)
    for start in range(0, rounds, step):
        stop = min(start + step, rounds)
        drawn = rng.integers(0, sums.size, size=(stop - start, sums.size))
        means[start:stop] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return means
