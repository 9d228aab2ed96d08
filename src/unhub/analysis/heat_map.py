"""Scores of evenly spaced queries and targets, before and after."""

from __future__ import annotations

import numpy as np

from unhub.analysis.reading import evenly
from unhub.analysis.story_model import HeatMap
from unhub.analysis.telling import counts_of
from unhub.analysis.unevenness import depth_of
from unhub.analysis.whole import Whole
from unhub.foundation.types import FloatArray, IntArray

SHOWN = 200
"""rows and columns: more than a picture shows only blurs"""
OUTLIERS = 0.5
"""percent of the scores at either end that the colours do not reach, so that one score does not darken the rest"""
DIGITS = 5


def heat_map(whole: Whole) -> HeatMap:
    """Every n-th query and target, those that are retrieved most first; after: where the correction is a bias."""
    relevance = whole.given.relevance
    rows, columns = (evenly(size, SHOWN) for size in (relevance.queries, relevance.gallery))
    counts = counts_of(whole.before, relevance.gallery, depth_of(relevance.gallery))
    columns = columns[np.argsort(-counts[columns], kind="stable")]
    before = _scores(whole, rows, columns)
    if whole.given.ignore_self:
        before[rows[:, None] == columns[None, :]] = np.nan
    bias = whole.after.bias
    after = None if bias is None else before + bias[columns].astype(np.float64)
    both = before if after is None else np.stack((before, after))
    low, high = np.nanpercentile(both, [OUTLIERS, 100 - OUTLIERS])
    return HeatMap(
        rows.tolist(),
        columns.tolist(),
        _plain(before),
        None if after is None else _plain(after),
        float(low),
        float(high),
    )


def _scores(whole: Whole, rows: IntArray, columns: IntArray) -> FloatArray:
    given = whole.given
    if given.scores is not None:
        part: FloatArray = given.scores[np.ix_(rows, columns)].astype(np.float64)
        return part
    assert given.queries is not None
    assert given.targets is not None
    made: FloatArray = given.queries[rows].astype(np.float64) @ given.targets[columns].astype(np.float64).T
    return made


def _plain(scores: FloatArray) -> list[list[float]]:
    found: list[list[float]] = scores.round(DIGITS).tolist()
    return found
