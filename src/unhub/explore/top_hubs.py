"""The targets that are first most often, each with queries that have it first."""

from __future__ import annotations

import numpy as np

from unhub.explore.model import HubCard, Instead, Reach
from unhub.explore.telling import counts_of
from unhub.explore.whole import Whole
from unhub.foundation.types import IntArray

HUBS = 10
QUERIES = 8
"""of each hub that are written out"""
OTHERS = 3
"""targets that are first instead"""


def top_hubs(whole: Whole) -> list[HubCard]:
    """The greatest hubs without a correction; a target that is first for nobody is none."""
    counts = counts_of(whole.before, whole.given.relevance.gallery, 1)
    order = np.argsort(-counts, kind="stable")[:HUBS]
    return [_card(whole, hub) for hub in order.tolist() if counts[hub] > 0]


def _card(whole: Whole, hub: int) -> HubCard:
    """One hub; its queries are evenly spaced among all that have it first, so that they speak for all."""
    given, relevance = whole.given, whole.given.relevance
    first, now = (np.flatnonzero(row.top[:, 0] == hub) for row in (whole.before, whole.after))
    right = np.zeros(relevance.queries, dtype=bool)
    right[relevance.query_rows[relevance.targets == hub]] = True
    shown = first[_evenly(len(first), QUERIES)]
    media, bias = given.sides[1].media[hub], whole.after.bias
    return HubCard(
        target=hub,
        id=given.ids[1][hub],
        name=given.sides[1].names[hub],
        media=None if media is None else media.kind,
        bias=None if bias is None else float(bias[hub]),
        count_before=len(first),
        count_after=len(now),
        right_before=int(right[first].sum()),
        right_after=int(right[now].sum()),
        reached=[
            Reach(row, given.sides[0].names[row], bool(right[row]), 1, _place(whole.after.top[row], hub))
            for row in shown.tolist()
        ],
        reached_total=len(first),
        bank=whole.bank.name,
        contributions=[],
        instead=_instead(whole, hub, first),
    )


def _instead(whole: Whole, hub: int, had: IntArray) -> list[Instead]:
    """What is first now for the queries that had the hub first, most frequent first."""
    now = whole.after.top[had, 0]
    found, counts = np.unique(now[now != hub], return_counts=True)
    listed = []
    for each in found[np.argsort(-counts, kind="stable")][:OTHERS].tolist():
        asked = had[now == each].tolist()
        right = sum(each in whole.right(query) for query in asked)
        listed.append(Instead(each, whole.given.sides[1].names[each], len(asked), right))
    return listed


def _evenly(size: int, most: int) -> IntArray:
    chosen: IntArray = np.linspace(0, max(0, size - 1), min(size, most)).round().astype(int)
    return chosen


def _place(top: IntArray, target: int) -> int | None:
    """The place of a target in a list, from 1; None where it is not there."""
    found = np.flatnonzero(top == target)
    return int(found[0]) + 1 if len(found) else None
