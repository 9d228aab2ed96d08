"""How sure a mean over queries is: the bootstrap, resampling clusters of queries that belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.metrics.paired_values import judged_values, paired_values
from unhub.metrics.resampling import resampled_means


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
        raise InputError(f"clusters has shape {ids.shape} but there are {array.size} queries; give one id for each")
    if not 0 < level < 1:
        raise InputError(f"level is {level}; an interval's level lies between 0 and 1, such as 0.95")
    if rounds < 1:
        raise InputError(f"rounds is {rounds}; resample at least once")
    array, ids = array[judged], ids[judged]
    means = resampled_means(array[:, None], ids, rounds=rounds, seed=seed)
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


def bootstrap_means(
    columns: ArrayLike, *, clusters: ArrayLike, rounds: int = 1000, level: float = 0.95, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends of the interval of each column's mean, all from the same draws: (series,) twice.

    columns: (query, series), such as every metric of every method; queries with a NaN are left out.
    """
    values = np.asarray(columns, dtype=np.float64)
    judged = ~np.isnan(values).any(axis=1)
    means = resampled_means(values[judged], np.asarray(clusters)[judged], rounds=rounds, seed=seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high
