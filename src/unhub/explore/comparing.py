"""A query and what several methods answer, side by side."""

from __future__ import annotations

import dataclasses

import numpy as np

from unhub.core.topk import top_k
from unhub.explore.material import SAVED
from unhub.explore.model import Answer, Column, Comparison
from unhub.explore.names import listed_name
from unhub.explore.stage import Scene, Setting, Stage, methods_of, temperature
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray

COLUMNS = ("none", "is", "sn", "dbsn")
ANSWERS = 10


def comparison(stage: Stage, setting: Setting, query: int) -> Comparison:
    """A query of the test set; the method of the setting has its own temperature, the others theirs."""
    its = stage.scene(setting).material
    if not 0 <= query < its.relevance.queries:
        raise InputError(f"there is no query {query}; they are counted from 0 to {its.relevance.queries - 1:,}.")
    media = its.queries.media[query]
    right = its.right(query)
    return Comparison(
        query,
        its.queries.names[query],
        None if media is None else media.kind,
        [its.targets.names[each] for each in right.tolist()],
        _columns(stage, setting, its.scores[query], right, query),
    )


def typed(stage: Stage, setting: Setting, text: str, vector: FloatArray) -> Comparison:
    """Words of somebody's own, once they are a vector: what is right nobody knows."""
    its = stage.scene(setting).material
    if its.vectors is None:
        raise InputError("there are only scores here and no vectors, so that no words can be asked.")
    if vector.shape != its.vectors.targets.shape[1:]:
        raise InputError(
            f"the encoder made {vector.shape[-1]} numbers of the text but targets have "
            f"{its.vectors.targets.shape[1]}; use the model that made the targets."
        )
    row = its.vectors.targets @ vector
    return Comparison(None, text, None, [], _columns(stage, setting, row, np.empty(0, dtype=int), None))


def _columns(stage: Stage, setting: Setting, row: FloatArray, right: IntArray, query: int | None) -> list[Column]:
    its = stage.scene(setting).material
    can = methods_of(its, setting.bank)
    names = [each for each in COLUMNS if each in can]
    if SAVED in can:  # in the place of its own method
        own = can[SAVED].name
        names = [SAVED if each == own else each for each in names] if own in names else [*names, SAVED]
    if setting.method not in names:
        names.append(setting.method)
    columns: list[Column] = []
    before: dict[int, int] = {}
    for name in names:
        mine = setting if name == setting.method else dataclasses.replace(setting, method=name, tau=None, strength=None)
        scene = stage.scene(mine)
        if scene.after.bias is None and name != "none":
            continue  # not a bias: its rows cannot be made one at a time
        made = _column(scene, row, right, query, before)
        columns.append(made)
        if name == "none":
            before = {each.target: place for place, each in enumerate(made.answers, 1)}
    return columns


def _column(scene: Scene, row: FloatArray, right: IntArray, query: int | None, before: dict[int, int]) -> Column:
    its, name = scene.material, scene.setting.method
    fixed = row if scene.after.bias is None or name == "none" else row + scene.after.bias
    if its.ignore_self and query is not None:
        fixed = np.array(fixed)
        fixed[query] = -np.inf
    scores, best = top_k(fixed[None, :], ANSWERS)
    answers = []
    for place, (target, score) in enumerate(zip(best[0].tolist(), scores[0].tolist(), strict=True), 1):
        media = its.targets.media[target]
        answers.append(
            Answer(
                target=target,
                name=its.targets.names[target],
                media=None if media is None else media.kind,
                score=float(score),
                right=bool(np.isin(target, right)),
                before=place if name == "none" else before.get(target),
            )
        )
    rank = float(1 + (fixed > fixed[right].max()).sum()) if len(right) else None
    tau = None if name == "none" else temperature(scene.method)
    return Column(name, listed_name(name, scene.method.name), tau, rank, answers)
