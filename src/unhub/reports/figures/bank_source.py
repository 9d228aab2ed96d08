"""Does a bank closer to the test queries help more? A point for each bank, and the rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.metrics import LEVEL
from unhub.reports.figures.axes import numbers, refuse_empty, refuse_missing, short
from unhub.reports.figures.captions import fitted, label_points, legend_above
from unhub.reports.figures.style import COLUMN, SMALL, blank, look, settle
from unhub.reports.palette import BASELINE, SERIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST_PAIRS = 3
"""pairs: with two, every correlation is 1 or -1"""


def bank_source(
    points: Sequence[tuple[str, float, float]],
    *,
    metric: str = "R@1",
    baseline: float | None = None,
    rounds: int = 2000,
    level: float = LEVEL,
    seed: int = 0,
) -> Figure:
    """A scatter of the metric over the distance from bank to test queries, with Spearman's rho and its interval.

    points: (name of the bank, earth mover's distance, value of the metric); a bank with a NaN is left out. baseline:
    the value with no correction, a dashed line. ``rounds``, ``level`` and ``seed`` belong to the bootstrap interval.
    """
    refuse_empty(points, "points", "bank")
    places = np.stack([numbers([emd, value], f"bank {name!r}", shape=(2,)) for name, emd, value in points])
    present = np.flatnonzero(np.isfinite(places).all(axis=1)).tolist()
    shown = places[present]
    refuse_missing([shown], "points")
    correlation = spearman(shown[:, 0], shown[:, 1], rounds=rounds, level=level, seed=seed)
    with look():
        figure = blank(COLUMN, 2.7)
        axes: Any = figure.subplots()
        dots = {"marker": SERIES[0].marker, "linestyle": "none", "color": SERIES[0].colour, "markeredgecolor": "white"}
        axes.plot(shown[:, 0], shown[:, 1], **dots, markersize=6, markeredgewidth=0.6, zorder=5)
        crossed = shown
        if baseline is not None:
            line = axes.axhline(baseline, **BASELINE)
            legend_above(figure, [line], [f"no correction: {short(baseline)}"])
            across = np.linspace(shown[:, 0].min(), shown[:, 0].max(), 100)
            crossed = np.vstack([shown, np.column_stack([across, np.full_like(across, baseline)])])
        axes.margins(0.14)
        axes.set_xlabel("earth mover's distance from bank to test queries")
        axes.set_ylabel(fitted(metric, 1.6))
        values = (correlation.rho, correlation.low, correlation.high)
        rho, low, high = (f"{value:.2f}".replace("-", "\N{MINUS SIGN}") for value in values)
        banks = f"{correlation.pairs} banks"
        axes.set_title(f"Spearman's ρ = {rho} ({banks})\n{level:.0%} bootstrap interval [{low}, {high}]")
        labels = [fitted(points[at][0], 1.2, SMALL) for at in present]
        settle(figure)
        label_points(axes, shown, labels, avoid=crossed)
    return figure


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


def spearman(x: ArrayLike, y: ArrayLike, *, rounds: int = 2000, level: float = LEVEL, seed: int = 0) -> RankCorrelation:
    """The correlation of the ranks of x and y; equal values share their mean rank.

    rho = cov(rank x, rank y) / (std(rank x) std(rank y))

    x, y: (n,); pairs with a NaN are left out. Each round draws n pairs with replacement and ranks them again; rounds
    in which x or y is constant are left out. If x or y is constant altogether, rho and its interval are NaN. With few
    pairs the interval tends to be too narrow.

    >>> spearman([1, 2, 3, 4], [10, 8, 9, 1]).rho
    -0.8
    """
    first = numbers(x, "x")
    second = numbers(y, "y", shape=first.shape)
    present = ~(np.isnan(first) | np.isnan(second))
    first, second = first[present], second[present]
    if first.size < FEWEST_PAIRS:
        few = f"but there are {first.size}."
        raise InputError(f"a rank correlation needs at least {FEWEST_PAIRS} pairs of numbers, {few}")
    if not 0 < level < 1 or rounds < 1:
        wrong = f"is {level} and rounds {rounds}"
        raise InputError("level", wrong, "give a level between 0 and 1 and at least one round")
    drawn = np.random.default_rng(seed).integers(first.size, size=(rounds, first.size))
    resampled = _correlations(first[drawn], second[drawn])
    resampled = resampled[np.isfinite(resampled)]
    rho = round(float(_correlations(first[None], second[None])[0]), 12)
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2]) if resampled.size else (np.nan, np.nan)
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
