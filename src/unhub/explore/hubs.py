"""One target seen from all sides: who reaches it, who pushes it down, and what ranks first instead."""

from __future__ import annotations

import numpy as np

from unhub.explore.material import Learnt
from unhub.explore.model import Contribution, HubCard, Instead, Reach
from unhub.explore.stage import Scene, temperature
from unhub.explore.telling import counts_of
from unhub.foundation.types import FloatArray, IntArray

SHOWN = 100
"""queries of a hub that are listed"""
FEW = 10


def hub_card(scene: Scene, target: int, *, shown: int = SHOWN) -> HubCard:
    """The card of a target at the depth of the setting."""
    its, k = scene.material, scene.setting.k
    places = [_places(top, target, k) for top in (scene.before.top, scene.after.top)]
    right = np.zeros(its.relevance.queries, dtype=bool)
    right[its.relevance.query_rows[its.relevance.targets == target]] = True
    reached = np.flatnonzero((places[0] > 0) | (places[1] > 0))
    order = np.lexsort((_last(places[1][reached], k), _last(places[0][reached], k)))
    listed = [
        Reach(row, its.queries.names[row], bool(right[row]), _place(places[0][row]), _place(places[1][row]))
        for row in reached[order][:shown].tolist()
    ]
    gallery = its.relevance.gallery
    media = its.targets.media[target]
    return HubCard(
        target=target,
        id=its.target_ids[target],
        name=its.targets.names[target],
        media=None if media is None else media.kind,
        bias=None if scene.after.bias is None else float(scene.after.bias[target]),
        count_before=int(counts_of(scene.before, gallery, k)[target]),
        count_after=int(counts_of(scene.after, gallery, k)[target]),
        right_before=int((right & (places[0] > 0)).sum()),
        right_after=int((right & (places[1] > 0)).sum()),
        reached=listed,
        reached_total=len(reached),
        bank="" if scene.learnt is None else scene.learnt.name,
        contributions=contributions(scene, target),
        instead=instead(scene, target),
    )


def contributions(scene: Scene, target: int, most: int = FEW) -> list[Contribution]:
    """The bank queries that push a target down most.

    Of is, sn and dbsn, bias_j = -tau log sum_u exp((s_uj + f_u) / tau): a query's share is its term of the sum. Other
    methods give no shares; their nearest bank queries are listed.
    """
    learnt, its = scene.learnt, scene.material
    if learnt is None:
        return []
    scores = its.scores[:, target] if learnt.scores is None else learnt.scores[:, target]
    shares = _shares(scene, learnt, scores)
    order = np.argsort(-(scores if shares is None else shares), kind="stable")[:most]
    return [
        Contribution(
            int(learnt.rows[row]),
            learnt.name_of(row),
            float(scores[row]),
            None if shares is None else float(shares[row]),
        )
        for row in order.tolist()
    ]


def instead(scene: Scene, target: int, most: int = FEW) -> list[Instead]:
    """What is first now for the queries that had this target first, most frequent first."""
    its = scene.material
    had = np.flatnonzero((scene.before.top[:, 0] == target) & (scene.after.top[:, 0] != target))
    now = scene.after.top[had, 0]
    found, counts = np.unique(now, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    listed = []
    for each in found[order].tolist():
        asked = had[now == each]
        right = sum(each in its.right(query) for query in asked.tolist())
        listed.append(Instead(int(each), its.targets.names[each], len(asked), right))
    return listed


def _shares(scene: Scene, learnt: Learnt, scores: FloatArray) -> FloatArray | None:
    name, tau = scene.method.name, temperature(scene.method)
    if name not in ("is", "sn", "dbsn") or tau is None or scene.bias is None:
        return None
    held: FloatArray = np.zeros(len(scores))
    potentials = scene.bias.potentials
    if potentials is not None:  # of the queries that are here, or of the whole bank behind a correction
        held = potentials if len(potentials) == len(scores) else potentials[learnt.rows]
    elif learnt.weight is not None:
        held = tau * np.log(learnt.weight)
    logits = (scores.astype(np.float64) + held) / tau
    weights = np.exp(logits - logits.max())
    found: FloatArray = weights / weights.sum()
    return found


def _places(top: IntArray, target: int, k: int) -> IntArray:
    """(query,): the place of the target among the first k, from 1; 0 where it is not among them."""
    here = top[:, :k] == target
    places: IntArray = np.where(here.any(axis=1), here.argmax(axis=1) + 1, 0)
    return places


def _last(places: IntArray, k: int) -> IntArray:
    found: IntArray = np.where(places > 0, places, k + 1)
    return found


def _place(place: int) -> int | None:
    return int(place) or None
