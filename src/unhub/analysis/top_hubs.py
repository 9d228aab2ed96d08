"""The targets that are first most often, each with queries that have it first."""

from __future__ import annotations

import numpy as np

from unhub.analysis.hubs import instead, places_of
from unhub.analysis.model import HubCard, Reach
from unhub.analysis.reading import evenly
from unhub.analysis.telling import counts_of
from unhub.analysis.whole import Whole

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
    reading = whole.reading
    first, now = (np.flatnonzero(row.top[:, 0] == hub) for row in (reading.before, reading.after))
    right, places = reading.right_for(hub), places_of(reading.after.top, hub)
    bias = reading.after.bias
    return HubCard(
        target=hub,
        id=reading.target_ids[hub],
        name=reading.targets.names[hub],
        media=reading.kind_of(hub),
        bias=None if bias is None else float(bias[hub]),
        count_before=len(first),
        count_after=len(now),
        right_before=int(right[first].sum()),
        right_after=int(right[now].sum()),
        reached=[
            Reach(row, reading.queries.names[row], bool(right[row]), 1, int(places[row]) or None)
            for row in first[evenly(len(first), QUERIES)].tolist()
        ],
        reached_total=len(first),
        bank=whole.bank.name,
        contributions=[],
        instead=instead(reading, hub, OTHERS),
    )
