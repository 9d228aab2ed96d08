"""One target seen from all sides: who reaches it, who pushes it down, and what ranks first instead."""

from __future__ import annotations

import numpy as np

from unhub.analysis.material import SAVED, Learnt
from unhub.analysis.model import Contribution, HubCard, Instead, Reach
from unhub.analysis.reading import Reading
from unhub.analysis.stage import Scene, temperature
from unhub.analysis.telling import counts_of
from unhub.foundation.types import FloatArray, IntArray

SHOWN = 100
"""queries of a hub that are listed"""
FEW = 50
"""bank queries, and targets that are first instead"""


def hub_card(scene: Scene, target: int, *, shown: int = SHOWN) -> HubCard:
    """The card of a target at the depth of the setting."""
    reading, k = scene.reading, scene.setting.k
    before, after = (places_of(row.top, target, k) for row in (reading.before, reading.after))
    right = reading.right_for(target)
    reached = np.flatnonzero((before > 0) | (after > 0))
    order = np.lexsort((_last(after[reached], k), _last(before[reached], k)))
    first, now = (places_of(row.top, target) for row in (reading.before, reading.after))
    listed = [
        Reach(row, reading.queries.names[row], bool(right[row]), int(first[row]) or None, int(now[row]) or None)
        for row in reached[order][:shown].tolist()
    ]
    gallery = reading.relevance.gallery
    return HubCard(
        target=target,
        id=reading.target_ids[target],
        name=reading.targets.names[target],
        media=reading.kind_of(target),
        bias=None if scene.after.bias is None else float(scene.after.bias[target]),
        count_before=int(counts_of(reading.before, gallery, k)[target]),
        count_after=int(counts_of(reading.after, gallery, k)[target]),
        right_before=int((right & (before > 0)).sum()),
        right_after=int((right & (after > 0)).sum()),
        reached=listed,
        reached_total=len(reached),
        bank="" if scene.learnt is None else scene.learnt.name,
        contributions=contributions(scene, target),
        instead=instead(reading, target),
    )


def contributions(scene: Scene, target: int, most: int = FEW) -> list[Contribution]:
    """The bank queries that push a target down most.

    Of is, sn and dbsn, bias_j = -tau log sum_u exp((s_uj + f_u) / tau): a query's share is its term of the sum. Other
    methods give no shares; their nearest bank queries are listed.
    """
    learnt = scene.learnt
    if learnt is None:
        return []
    scores, rows = _bank_scores(scene, learnt, target)
    shares = _shares(scene, learnt, scores, rows)
    order = np.argsort(-(scores if shares is None else shares), kind="stable")[:most]
    return [
        Contribution(
            int(rows[at]),
            learnt.name_of(int(rows[at])),
            float(scores[at]),
            None if shares is None else float(shares[at]),
        )
        for at in order.tolist()
        if np.isfinite(scores[at])
    ]


def instead(reading: Reading, target: int, most: int = FEW) -> list[Instead]:
    """What is first now for the queries that had this target first, most frequent first."""
    had = np.flatnonzero((reading.before.top[:, 0] == target) & (reading.after.top[:, 0] != target))
    now = reading.after.top[had, 0]
    found, counts = np.unique(now, return_counts=True)
    listed = []
    for each in found[np.argsort(-counts, kind="stable")][:most].tolist():
        asked = had[now == each].tolist()
        right = sum(each in reading.right(query) for query in asked)
        listed.append(Instead(int(each), reading.targets.names[each], len(asked), right))
    return listed


def places_of(top: IntArray, target: int, k: int | None = None) -> IntArray:
    """(query,): the place of the target among the first k, from 1; 0 where it is not among them."""
    here = top[:, :k] == target
    places: IntArray = np.where(here.any(axis=1), here.argmax(axis=1) + 1, 0)
    return places


def _bank_scores(scene: Scene, learnt: Learnt, target: int) -> tuple[FloatArray, IntArray]:
    """The scores of bank queries with a target, and which queries they are of.

    A correction was fitted on all of its bank, also where a part of it is here. No item speaks for itself where items
    are their own bank.
    """
    its = scene.material
    if scene.setting.method == SAVED and learnt.whole is not None and its.vectors is not None:
        return learnt.whole @ its.vectors.targets[target], np.arange(len(learnt.whole))
    scores = np.array((its.scores if learnt.scores is None else learnt.scores)[:, target])
    if its.ignore_self and learnt.scores is None:
        scores[target] = -np.inf
    return scores, learnt.rows


def _shares(scene: Scene, learnt: Learnt, scores: FloatArray, rows: IntArray) -> FloatArray | None:
    tau = temperature(scene.method)
    if not scene.method.softmax or tau is None or scene.bias is None:
        return None
    held: FloatArray = np.zeros(len(scores))
    potentials = scene.bias.potentials
    if potentials is not None:
        held = potentials if len(potentials) == len(scores) else potentials[rows]
    elif learnt.weight is not None:
        held = tau * np.log(learnt.weight[rows])
    logits = (scores.astype(np.float64) + held) / tau
    weights = np.exp(logits - logits.max())
    found: FloatArray = weights / weights.sum()
    return found


def _last(places: IntArray, k: int) -> IntArray:
    found: IntArray = np.where(places > 0, places, k + 1)
    return found
