"""Hubs: the queries that retrieve a target, what pushes it down, and what ranks first instead."""

from __future__ import annotations

from dataclasses import replace

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
    queries = np.flatnonzero((before > 0) | (after > 0))
    order = np.lexsort(tuple(np.where(each[queries] > 0, each[queries], k + 1) for each in (after, before)))
    card = _card(pair, target, k, queries[order][:most], "" if ranked.bank is None else ranked.bank.name, MOST_ROWS)
    bias = None if ranked.shown_bias is None else float(ranked.shown_bias[target])
    return replace(card, bias=bias, reached_total=len(queries), contributions=contributions(ranked, target))


def top_hubs(pair: RankingPair, bank: str) -> list[HubCard]:
    """The largest hubs with no correction; their queries are evenly spaced among all that have them first."""
    counts, cards = pair.counts(pair.before, 1), []
    for hub in np.argsort(-counts, kind="stable")[:REPORTED].tolist():
        queries = np.flatnonzero(pair.before.top[:, 0] == hub)
        if len(queries):
            shown = queries[evenly(len(queries), REPORTED_QUERIES)]
            cards.append(_card(pair, hub, 1, shown, bank, REPORTED_TARGETS))
    return cards


def _card(pair: RankingPair, target: int, k: int, queries: IntArray, bank: str, most: int) -> HubCard:
    """A card that lists these queries, without contributions."""
    before, after = (places_of(row.top, target) for row in (pair.before, pair.after))
    top_before, top_after = ((places > 0) & (places <= k) for places in (before, after))
    right, media, bias = pair.right_for(target), pair.targets.media[target], pair.after.bias
    listed = [
        HubQuery(row, pair.queries.names[row], bool(right[row]), int(before[row]) or None, int(after[row]) or None)
        for row in queries.tolist()
    ]
    return HubCard(
        target=target,
        id=pair.targets.ids[target],
        name=pair.targets.names[target],
        media=None if media is None else media.kind,
        bias=None if bias is None else float(bias[target]),
        count_before=int(top_before.sum()),
        count_after=int(top_after.sum()),
        right_before=int((right & top_before).sum()),
        right_after=int((right & top_after).sum()),
        reached=listed,
        reached_total=int(top_before.sum()),
        bank=bank,
        contributions=[],
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
    kept = ranked.task.bank_rows
    rows = order if whole else bank.rows[order if kept is None else kept[order]]
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
        if potentials.ndim == 2:  # capped: beside the potential of each bank query, its second best score
            potentials, caps = potentials
            scores = np.minimum(scores, caps)
    elif weight is not None:
        potentials = tau * np.log(weight)
    logits = (scores.astype(np.float64) + potentials) / tau
    terms = np.exp(logits - logits.max())
    shares: FloatArray = terms / terms.sum()
    return shares
