"""How evenly targets are retrieved before and after: k-occurrence and Lorenz curve."""

from __future__ import annotations

import numpy as np

from unhub.analysis.story_model import Lorenz, Occurrence, Spread
from unhub.analysis.telling import counts_of
from unhub.analysis.whole import Whole
from unhub.foundation.types import FloatArray, IntArray
from unhub.metrics import antihub_share, gini, largest_count, skewness

K = 10
"""the depth at which a target counts as retrieved"""
FEW = 5
"""times the depth: with fewer targets it would be a large part of them"""
POINTS = 101
"""of a curve"""


def depth_of(gallery: int) -> int:
    """The depth at which a target counts as retrieved: of few targets nearly all are among the ten best.

    >>> depth_of(1000), depth_of(20)
    (10, 1)
    """
    return K if gallery >= FEW * K else 1


def occurrences(whole: Whole) -> list[Occurrence]:
    """First places, and the first ten where there are targets enough."""
    gallery = whole.given.relevance.gallery
    return [
        Occurrence(k, *(spread_of(counts_of(row, gallery, k)) for row in (whole.before, whole.after)))
        for k in dict.fromkeys((1, depth_of(gallery)))
    ]


def spread_of(counts: IntArray) -> Spread:
    """What counts of all targets say, zeros included.

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


def lorenz(whole: Whole) -> Lorenz:
    """The curve at the depth that is shown, evenly spaced over the targets."""
    gallery = whole.given.relevance.gallery
    k = depth_of(gallery)
    before, after = (lorenz_points(counts_of(row, gallery, k)) for row in (whole.before, whole.after))
    return Lorenz(k, before[0].tolist(), before[1].tolist(), after[1].tolist())


def lorenz_points(counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Shares of the targets, least retrieved first, and which share of the places each of them has.

    >>> lorenz_points(np.array([4, 0, 0, 0]))[1].tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0]
    """
    places = np.concatenate(([0], np.cumsum(np.sort(counts))))
    chosen = np.unique(np.linspace(0, len(counts), min(len(counts) + 1, POINTS)).round().astype(int))
    return chosen / max(1, len(counts)), places[chosen] / max(1, int(places[-1]))
