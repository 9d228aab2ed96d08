"""Hubs: the queries that retrieve a target, what pushes it down, and what ranks first instead."""

from __future__ import annotations

import numpy as np

from unhub.analysis.model import Contribution, HubCard, HubQuery, Replacement
from unhub.analysis.session import SAVED, BeforeAfter, temperature
from unhub.api.ranking_pair import RankingPair
from unhub.foundation.types import FloatArray, IntArray
from unhub.io import Rows
from unhub.scores import blocks, whole_matrix

MOST_QUERIES = 100
"""queries listed on the card of a hub"""
MOST_ROWS = 50
"""bank queries, and targets that rank first instead"""
REPORTED, REPORTED_QUERIES, REPORTED_TARGETS = 10, 8, 3
"""hubs in a report, and queries and replacements of each"""


def hub_card(ranked: BeforeAfter, target: int, *, most: int = MOST_QUERIES) -> HubCard:
    """The card of a target at the k of the view."""
    pair, k = ranked.pair, ranked.settings.k
    before, after = (places_of(row.top, target, k) for row in (pair.before, pair.after))
    retrieved = np.flatnonzero((before > 0) | (after > 0))
    order = np.lexsort((_last(after[retrieved], k), _last(before[retrieved], k)))
    right = pair.right_for(target)
    return _card(
        pair,
        target,
        retrieved[order][:most],
        count=(int((before > 0).sum()), int((after > 0).sum())),
        right=(int((right & (before > 0)).sum()), int((right & (after > 0)).sum())),
        total=len(retrieved),
        bank="" if ranked.bank is None else ranked.bank.name,
        contributions=contributions(ranked, target),
        most=MOST_ROWS,
    )


def top_hubs(pair: RankingPair, bank: str) -> list[HubCard]:
    """The largest hubs with no correction; their queries are evenly spaced among all that have them first."""
    counts = pair.counts(pair.before, 1)
    cards = []
    for hub in np.argsort(-counts, kind="stable")[:REPORTED].tolist():
        before, after = (np.flatnonzero(row.top[:, 0] == hub) for row in (pair.before, pair.after))
        if not len(before):
            break
        right = pair.right_for(hub)
        cards.append(
            _card(
                pair,
                hub,
                before[evenly(len(before), REPORTED_QUERIES)],
                count=(len(before), len(after)),
                right=(int(right[before].sum()), int(right[after].sum())),
                total=len(before),
                bank=bank,
                contributions=[],
                most=REPORTED_TARGETS,
            )
        )
    return cards


def _card(
    pair: RankingPair,
    target: int,
    queries: IntArray,
    *,
    count: tuple[int, int],
    right: tuple[int, int],
    total: int,
    bank: str,
    contributions: list[Contribution],
    most: int,
) -> HubCard:
    before, after = (places_of(row.top, target) for row in (pair.before, pair.after))
    relevant, media, bias = pair.right_for(target), pair.targets.media[target], pair.after.bias
    return HubCard(
        target=target,
        id=pair.targets.ids[target],
        name=pair.targets.names[target],
        media=None if media is None else media.kind,
        bias=None if bias is None else float(bias[target]),
        count_before=count[0],
        count_after=count[1],
        right_before=right[0],
        right_after=right[1],
        reached=[
            HubQuery(
                row, pair.queries.names[row], bool(relevant[row]), int(before[row]) or None, int(after[row]) or None
            )
            for row in queries.tolist()
        ],
        reached_total=total,
        bank=bank,
        contributions=contributions,
        instead=replacements(pair, target, most),
    )


def contributions(ranked: BeforeAfter, target: int, most: int = MOST_ROWS) -> list[Contribution]:
    """The bank queries that push a target down most.

    Of is, sn and dbsn, bias_j = -tau log sum_u exp((s_uj + f_u) / tau): a query's share is its term of the sum. Other
    methods give no shares; their nearest bank queries are listed.
    """
    bank = ranked.bank
    if bank is None:
        return []
    scores, whole = _bank_scores(ranked, target)
    shares = _shares(ranked, scores, ranked.sample.data.correction.weights if whole else ranked.task.banks.query_weight)
    order = np.argsort(-(scores if shares is None else shares), kind="stable")[:most]
    order = order[np.isfinite(scores[order])]
    rows = order if whole else bank.rows[order]
    return [
        Contribution(row, bank.name_of(row), float(scores[at]), None if shares is None else float(shares[at]))
        for at, row in zip(order.tolist(), rows.tolist(), strict=True)
    ]


def replacements(pair: RankingPair, target: int, most: int) -> list[Replacement]:
    """What now ranks first for the queries that had this target first, most frequent first."""
    lost = np.flatnonzero((pair.before.top[:, 0] == target) & (pair.after.top[:, 0] != target))
    now = pair.after.top[lost, 0]
    targets, counts = np.unique(now, return_counts=True)
    listed = []
    for each in targets[np.argsort(-counts, kind="stable")][:most].tolist():
        queries = lost[now == each].tolist()
        right = sum(each in pair.right(query) for query in queries)
        listed.append(Replacement(int(each), pair.targets.names[each], len(queries), right))
    return listed


def places_of(top: IntArray, target: int, k: int | None = None) -> IntArray:
    """(query,): the place of the target among the first k, from 1; 0 where it is not among them."""
    here = top[:, :k] == target
    places: IntArray = np.where(here.any(axis=1), here.argmax(axis=1) + 1, 0)
    return places


def evenly(size: int, most: int) -> IntArray:
    """At most so many numbers below ``size``, evenly spaced.

    >>> evenly(9, 3).tolist(), evenly(2, 5).tolist()
    ([0, 4, 8], [0, 1])
    """
    chosen: IntArray = np.linspace(0, max(0, size - 1), min(size, most)).round().astype(int)
    return chosen


def _bank_scores(ranked: BeforeAfter, target: int) -> tuple[FloatArray, bool]:
    """The scores of bank queries with a target, and whether they are of the whole bank.

    A correction was fitted on the whole of its bank, of which the sample may hold a part.
    """
    task, its = ranked.task, ranked.sample
    if ranked.settings.method == SAVED and its.data.correction.query_bank is not None and task.targets is not None:
        vector = Rows(np.asarray(task.targets[target : target + 1]), name="targets")
        return whole_matrix(its.data.reader.products(its.data.correction.query_bank, vector))[:, 0], True
    scores = np.concatenate([np.asarray(block)[:, target] for _, block in blocks(task.banks.queries)])
    return scores, False


def _shares(ranked: BeforeAfter, scores: FloatArray, weight: FloatArray | None) -> FloatArray | None:
    tau = temperature(ranked.method)
    if not ranked.method.softmax or tau is None or ranked.bias is None:
        return None
    potentials: FloatArray = np.zeros(len(scores))
    if ranked.bias.potentials is not None:
        potentials = ranked.bias.potentials
    elif weight is not None:
        potentials = tau * np.log(weight)
    logits = (scores.astype(np.float64) + potentials) / tau
    terms = np.exp(logits - logits.max())
    shares: FloatArray = terms / terms.sum()
    return shares


def _last(places: IntArray, k: int) -> IntArray:
    ordered: IntArray = np.where(places > 0, places, k + 1)
    return ordered
