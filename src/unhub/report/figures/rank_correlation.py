"""Spearman's rank correlation and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.report.figures.inputs import numbers

FEWEST = 3
"""pairs: with two, every correlation is 1 or -1"""


@dataclass(frozen=True)
class RankCorrelation:
    """rho between -1 and 1 over ``pairs`` pairs, and its bootstrap percentile interval."""

    rho: float
    low: float
    high: float
    level: float
    pairs: int
    rounds: int
    seed: int


def spearman(x: ArrayLike, y: ArrayLike, *, rounds: int = 2000, level: float = 0.95, seed: int = 0) -> RankCorrelation:
    """The correlation of the ranks of x and y, equal values sharing their mean rank.

    rho = cov(rank x, rank y) / (std(rank x) std(rank y))

    x, y: (n,); pairs with a NaN are left out. Each round draws n pairs with replacement and ranks them anew; rounds
    in which x or y is constant have no correlation and are left out. Where x or y is constant altogether, rho and its
    interval are NaN. With few pairs the interval is wide, and rather too narrow than too wide.

    >>> spearman([1, 2, 3, 4], [10, 8, 9, 1]).rho
    -0.8
    """
    first = numbers(x, "x")
    second = numbers(y, "y", shape=first.shape)
    there = ~(np.isnan(first) | np.isnan(second))
    first, second = first[there], second[there]
    if first.size < FEWEST:
        raise InputError(f"a rank correlation needs at least {FEWEST} pairs of numbers, but there are {first.size}.")
    if not 0 < level < 1 or rounds < 1:
        raise InputError(f"level is {level} and rounds {rounds}; give a level between 0 and 1 and at least one round.")
    drawn = np.random.default_rng(seed).integers(first.size, size=(rounds, first.size))
    rounds_of = _correlations(first[drawn], second[drawn])
    rho = round(float(_correlations(first[None], second[None])[0]), 12)
    sure = rounds_of[np.isfinite(rounds_of)]
    low, high = np.quantile(sure, [(1 - level) / 2, (1 + level) / 2]) if sure.size else (np.nan, np.nan)
    return RankCorrelation(rho, float(low), float(high), level, first.size, rounds, seed)


def _correlations(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """rho of each row; NaN where one side is constant."""
    from scipy.stats import rankdata

    a, b = (rankdata(side, axis=1) for side in (x, y))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    below = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    rho: NDArray[np.float64] = np.full(len(a), np.nan)
    np.divide((a * b).sum(axis=1), below, out=rho, where=below > 0)
    return rho
