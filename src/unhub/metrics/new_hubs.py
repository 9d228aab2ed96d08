"""Targets that come up far more often than before, and far more often than chance explains."""

from __future__ import annotations

import numpy as np

from unhub.foundation.types import IntArray

ALPHA = 0.01
"""how often one target or more of a whole gallery would be called a hub, or a new one, by chance alone"""
TWICE = 2.0
"""how many times as often as before a new hub comes up, at least"""


def hub_count(queries: int, gallery: int, k: int) -> int:
    """The smallest k-occurrence that chance hardly gives to any target of a gallery.

    By chance each count is Poisson with mean queries * k / gallery.

    queries: how many queries there are. gallery: how many targets. k: how many of the best count.

    >>> hub_count(200, 1000, 10), hub_count(200, 100_000, 10)
    (11, 4)
    """
    from scipy.special import pdtrc

    mean = queries * min(k, gallery) / gallery
    counts = np.arange(1, int(mean + 20 * mean**0.5) + 40)
    return int(counts[np.argmax(gallery * pdtrc(counts - 1, mean) <= ALPHA)])


def new_hubs(counts: IntArray, queries: int, before: IntArray, queries_before: int, k: int) -> IntArray:
    """The targets that have become hubs, the most frequent first.

    A new hub comes up more often than chance hardly gives to any target, at least twice as often as before, and more
    often than two samples of the same traffic would differ.

    counts: (gallery,) k-occurrence now. queries: of how many queries. before, queries_before: the same, earlier.
    k: how many of the best count.

    >>> now, earlier = np.array([40, 40, 10, 8, 2, 0]), np.array([2, 38, 30, 20, 5, 5])
    >>> new_hubs(now, 100, earlier, 100, 1).tolist()
    [0]
    """
    from scipy.special import bdtrc

    gallery = len(counts)
    total, share = counts + before, queries / (queries + queries_before)
    # of all that came up, how many come up now: binomial while nothing has changed
    by_chance = np.where(counts > 0, bdtrc(np.maximum(counts - 1, 0), total, share), 1.0)
    more = counts * queries_before >= TWICE * before * queries
    rows = np.flatnonzero((counts >= hub_count(queries, gallery, k)) & more & (gallery * by_chance <= ALPHA))
    order: IntArray = rows[np.argsort(-counts[rows], kind="stable")]
    return order
