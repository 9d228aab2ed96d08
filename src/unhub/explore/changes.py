"""Queries whose answer moved: those made better and those made worse, found the same way."""

from __future__ import annotations

from typing import Literal

import numpy as np

from unhub.api.evaluation import MethodResult
from unhub.explore.model import Change
from unhub.explore.stage import RANK, Scene
from unhub.foundation.types import BoolArray, FloatArray, IntArray

Which = Literal["better", "worse", "same", "all"]


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


def change(scene: Scene, query: int) -> Change:
    """One query: where its answer was and is, and what came first."""
    its = scene.material
    names = its.targets.names
    before, after = ranks(scene.before)[query], ranks(scene.after)[query]
    right = its.right(query)
    rows = (int(scene.before.top[query, 0]), int(scene.after.top[query, 0]), int(right[0]) if len(right) else -1)
    return Change(
        query=query,
        name=its.queries.names[query],
        rank_before=float(before),
        rank_after=float(after),
        first_before=names[rows[0]],
        first_after=names[rows[1]],
        right=names[rows[2]] if len(right) else "",
        targets=rows,
    )
