"""Queries whose answer moved: those made better and those made worse, found the same way."""

from __future__ import annotations

from typing import Literal

import numpy as np

from unhub.analysis.model import Change
from unhub.analysis.reading import Reading
from unhub.api.evaluation import MethodResult
from unhub.foundation.types import BoolArray, FloatArray, IntArray

Which = Literal["better", "worse", "same", "all"]
RANK = "MnR"
"""whose value for a query is the rank of its best answer"""


def ranks(row: MethodResult) -> FloatArray:
    """(query,): the rank of its best answer, NaN where none is known."""
    return np.asarray(row.per_query[RANK], dtype=np.float64)


def moved(before: FloatArray, after: FloatArray, which: Which) -> IntArray:
    """The queries that moved that way, most telling first: by how much one over the rank changes.

    >>> moved(np.array([1.0, 5.0, 2.0]), np.array([3.0, 1.0, 2.0]), "better").tolist()
    [1]
    """
    gain = 1 / after - 1 / before
    chosen: BoolArray = {"better": gain > 0, "worse": gain < 0, "same": gain == 0, "all": ~np.isnan(gain)}[which]
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(-np.abs(gain[rows]), kind="stable")]


def change(reading: Reading, query: int) -> Change:
    """One query: where its answer was and is, and what came first."""
    names = reading.targets.names
    right = reading.nearest_right(query)
    rows = (int(reading.before.top[query, 0]), int(reading.after.top[query, 0]), right)
    return Change(
        query=query,
        name=reading.queries.names[query],
        rank_before=float(ranks(reading.before)[query]),
        rank_after=float(ranks(reading.after)[query]),
        first_before=names[rows[0]],
        first_after=names[rows[1]],
        right=names[right] if right >= 0 else "",
        targets=rows,
    )
