"""How evenly targets are retrieved before and after: k-occurrence, Lorenz curve, and a heat map of scores."""

from __future__ import annotations

import numpy as np

from unhub.analysis.hubs import evenly
from unhub.analysis.model import HeatMap, Lorenz, Occurrence, Spread
from unhub.api.ranking_pair import RankingPair
from unhub.dataset import Dataset
from unhub.foundation.types import FloatArray, IntArray
from unhub.metrics import antihub_share, gini, largest_count, skewness

POINTS = 101
"""of a curve"""
CELLS = 200
"""rows and columns of a heat map: a picture shows no more"""
OUTLIERS = 0.5
"""percent of the scores at either end beyond the colours, so that one score does not darken the rest"""
DIGITS = 5


def occurrences(pair: RankingPair) -> list[Occurrence]:
    """At k = 1, and at k = 10 in a gallery that is large enough."""
    return [
        Occurrence(k, *(spread_of(pair.counts(row, k)) for row in (pair.before, pair.after)))
        for k in dict.fromkeys((1, pair.depth))
    ]


def spread_of(counts: IntArray) -> Spread:
    """The spread of the counts of all targets, zeros included.

    >>> spread_of(np.array([3, 0, 0, 1])).bars
    [(0, 2), (1, 1), (3, 1)]
    """
    often, targets = np.unique(counts, return_counts=True)
    return Spread(
        bars=list(zip(often.tolist(), targets.tolist(), strict=True)),
        skewness=skewness(counts),
        never=antihub_share(counts),
        largest=int(largest_count(counts)),
        gini=gini(counts),
    )


def lorenz(pair: RankingPair) -> Lorenz:
    """The curves at the depth of the pair."""
    before, after = (lorenz_points(pair.counts(row, pair.depth)) for row in (pair.before, pair.after))
    return Lorenz(pair.depth, before[0].tolist(), before[1].tolist(), after[1].tolist())


def lorenz_points(counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Shares of the targets, least retrieved first, and the share of the places that each of them has.

    >>> lorenz_points(np.array([4, 0, 0, 0]))[1].tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0]
    """
    places = np.concatenate(([0], np.cumsum(np.sort(counts))))
    chosen = np.unique(np.linspace(0, len(counts), min(len(counts) + 1, POINTS)).round().astype(int))
    return chosen / max(1, len(counts)), places[chosen] / max(1, int(places[-1]))


def heat_map(pair: RankingPair, data: Dataset, direction: str) -> HeatMap:
    """Scores of evenly spaced queries and targets, most retrieved targets first; after: for additive methods."""
    rows, columns = (evenly(size, CELLS) for size in (pair.relevance.queries, pair.relevance.gallery))
    columns = columns[np.argsort(-pair.counts(pair.before, pair.depth)[columns], kind="stable")]
    before = data.block(rows, columns, direction)
    if data.ignore_self:
        before[rows[:, None] == columns[None, :]] = np.nan
    bias = pair.after.bias
    after = None if bias is None else before + bias[columns].astype(np.float64)
    both = before if after is None else np.stack((before, after))
    low, high = np.nanpercentile(both, [OUTLIERS, 100 - OUTLIERS])
    cells = before.round(DIGITS).tolist(), None if after is None else after.round(DIGITS).tolist()
    return HeatMap(rows.tolist(), columns.tolist(), *cells, float(low), float(high))
