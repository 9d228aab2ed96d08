"""Queries whose rank changed: those that improved and those that got worse, chosen the same way."""

from __future__ import annotations

from typing import Literal

import numpy as np

from unhub.analysis.model import Change, Examples
from unhub.api.evaluation import MethodResult
from unhub.api.ranking_pair import RankingPair
from unhub.experiments.run import RANK
from unhub.foundation.types import BoolArray, FloatArray, IntArray

Which = Literal["better", "worse", "same", "all"]
MOST_EXAMPLES = 6
"""examples of each kind in a report"""


def ranks(row: MethodResult) -> FloatArray:
    """(query,): the rank of its best relevant target, NaN where none is known."""
    return np.asarray(row.per_query[RANK], dtype=np.float64)


def changed_queries(before: FloatArray, after: FloatArray, which: Which) -> IntArray:
    """The queries whose rank changed that way, by the change of one over the rank, largest first.

    >>> changed_queries(np.array([1.0, 5.0, 2.0]), np.array([3.0, 1.0, 2.0]), "better").tolist()
    [1]
    """
    gain = 1 / after - 1 / before
    chosen: BoolArray = {"better": gain > 0, "worse": gain < 0, "same": gain == 0, "all": ~np.isnan(gain)}[which]
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(-np.abs(gain[rows]), kind="stable")]


def change(pair: RankingPair, query: int) -> Change:
    """One query: its rank before and after, and what came first."""
    names = pair.targets.names
    right = pair.nearest_right(query)
    rows = (int(pair.before.top[query, 0]), int(pair.after.top[query, 0]), right)
    return Change(
        query=query,
        name=pair.queries.names[query],
        rank_before=float(ranks(pair.before)[query]),
        rank_after=float(ranks(pair.after)[query]),
        first_before=names[rows[0]],
        first_after=names[rows[1]],
        right=names[right] if right >= 0 else "",
        targets=rows,
    )


def examples(pair: RankingPair) -> Examples:
    """The clearest changes of both kinds, the same number of each where both exist."""
    before, after = ranks(pair.before), ranks(pair.after)
    better, worse = changed_queries(before, after, "better"), changed_queries(before, after, "worse")
    shown = min(len(better), len(worse), MOST_EXAMPLES) or MOST_EXAMPLES
    return Examples(
        better=[change(pair, query) for query in better[:shown].tolist()],
        worse=[change(pair, query) for query in worse[:shown].tolist()],
        better_total=len(better),
        same_total=int(np.sum(before == after)),
        worse_total=len(worse),
        note=_note(len(better), len(worse)),
    )


def _note(better: int, worse: int) -> str:
    """Where there are few examples of one kind.

    >>> _note(40, 2)
    'Only 2 queries got worse, so 2 of each kind are shown.'
    >>> _note(9, 0), _note(40, 30)
    ('No query got worse.', '')
    """
    fewer, kind = (worse, "worse") if worse <= better else (better, "better")
    if not better and not worse:
        return "No query changed its rank."
    if not fewer:
        return f"No query got {kind}."
    if fewer < MOST_EXAMPLES:
        queries = "1 query" if fewer == 1 else f"{fewer} queries"
        return f"Only {queries} got {kind}, so {fewer} of each kind {'is' if fewer == 1 else 'are'} shown."
    return ""
