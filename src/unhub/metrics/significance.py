"""How sure a mean over queries is, and whether a difference can be luck: clustered bootstrap, exact McNemar, Holm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray, FloatArray

CHUNK = 1 << 22
"""cluster weights held at once"""

LEVEL = 0.95
"""level of every interval"""


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
    values: ArrayLike, *, clusters: ArrayLike | None = None, rounds: int = 2000, level: float = LEVEL, seed: int = 0
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
            "clusters", f"has shape {ids.shape} but there are {array.size} queries", "give one id for each"
        )
    if not 0 < level < 1:
        raise InputError("level", f"is {level}", "an interval's level is between 0 and 1, such as 0.95")
    if rounds < 1:
        raise InputError("rounds", f"is {rounds}", "resample at least once")
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
    level: float = LEVEL,
    seed: int = 0,
) -> Interval:
    """The mean of first - second over the same queries, and its interval: each query is its own control."""
    paired_values(first, second)
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return bootstrap_mean(difference, clusters=clusters, rounds=rounds, level=level, seed=seed)


def bootstrap_means(
    columns: ArrayLike, *, clusters: ArrayLike, rounds: int = 1000, level: float = LEVEL, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends of the interval of each column's mean, all from the same draws: (series,) twice.

    columns: (query, series), such as every metric of every method; queries with a NaN are left out.
    """
    values = np.asarray(columns, dtype=np.float64)
    judged = ~np.isnan(values).any(axis=1)
    means = resampled_means(values[judged], np.asarray(clusters)[judged], rounds=rounds, seed=seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


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
    """How often each cluster is drawn in each round; cached, since the page asks again and again."""
    drawn = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=rounds).astype(np.float64)
    drawn.flags.writeable = False
    return drawn


def judged_values(values: ArrayLike, name: str = "values") -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The values (query,) and which of them are judged; NaN marks a query without a relevant target."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(name, f"must be flat, one value for each query, but has shape {array.shape}")
    judged = ~np.isnan(array)
    if not judged.any():
        raise InputError(name, "has no query with a relevant target", "there is nothing to compare")
    return array, judged


def paired_values(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both methods' values on the judged queries, which must be the same for both."""
    (a, judged), (b, judged_too) = judged_values(first, "first"), judged_values(second, "second")
    if a.size != b.size:
        raise InputError("first", f"has {a.size} queries and second {b.size}", "compare methods on the same queries")
    if (judged != judged_too).any():
        raise InputError(f"query {np.argmax(judged != judged_too)} has a value in one method and NaN in the other.")
    return a[judged], b[judged]


@dataclass(frozen=True)
class McNemar:
    """How many queries only the first method hit, how many only the second, and the two-sided p-value."""

    only_first: int
    only_second: int
    p_value: float


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """The exact McNemar test of two methods' hits on the same queries: (query,), 0 or 1.

    For instance R@1 per query: ``per_query(ranking, "R@1")``.

    Under the null each query on which they differ is a fair coin, so with b and c such queries
    p = min(1, 2 P[Binomial(b + c, 1/2) <= min(b, c)]); 1.0 where they never differ.

    >>> mcnemar([1, 1, 1, 0], [0, 0, 1, 0])
    McNemar(only_first=2, only_second=0, p_value=0.5)
    """
    from scipy.special import bdtr

    a, b = paired_values(first, second)
    values = np.concatenate((a, b))
    wrong = values[(values != 0) & (values != 1)]
    if wrong.size:
        raise InputError(f"McNemar compares hits and misses, 1 and 0, but a value is {wrong[0]:g}; use R@k per query.")
    only_first, only_second = int(np.sum(a > b)), int(np.sum(b > a))
    fewer, total = min(only_first, only_second), only_first + only_second
    p_value = min(1.0, 2.0 * float(bdtr(fewer, total, 0.5))) if total else 1.0
    return McNemar(only_first, only_second, p_value)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """The p-values adjusted for multiple tests, in the same order: compare each with the level as usual.

    Sorted ascending, p_(i) becomes the largest of (m - j + 1) p_(j) over j <= i, at most 1.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("p_values", f"must be a flat list of numbers between 0 and 1, but came as {p.tolist()}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.arange(p.size, 0, -1) * p[order]))
    return adjusted
