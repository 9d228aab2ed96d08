"""A query and what several methods answer, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from unhub.analysis.changes import ranks
from unhub.analysis.given import unit
from unhub.analysis.material import SAVED, Vectors
from unhub.analysis.model import Answer, Column, Comparison
from unhub.analysis.names import listed_name
from unhub.analysis.stage import Scene, Setting, Stage, Wanted, always, methods_of, temperature
from unhub.core.topk import top_k
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray

COLUMNS = ("none", "is", "sn", "dbsn")
ANSWERS = 10


def comparison(stage: Stage, setting: Setting, query: int, wanted: Wanted = always) -> Comparison:
    """A query of the test set; the method of the setting has its own temperature, the others theirs."""
    chosen = stage.scene(setting, wanted)
    its = chosen.material
    if not 0 <= query < its.relevance.queries:
        raise InputError(f"there is no query {query}; they are counted from 0 to {its.relevance.queries - 1:,}.")
    columns: list[Column] = []
    for scene in _scenes(stage, setting, wanted):
        top = scene.after.top[query, :ANSWERS]
        added = 0.0 if scene.after.bias is None else scene.after.bias[top]
        bare = scene.after.bias is None and scene.setting.method != "none"
        scores = None if bare else its.scores[query, top] + added
        rank = float(ranks(scene.after)[query]) if its.judged else math.nan
        columns.append(_column(scene, top, scores, None if math.isnan(rank) else rank, columns[:1], query))
    media = its.queries.media[query]
    right = chosen.reading.right(query)
    kind = None if media is None else media.kind
    return Comparison(query, its.queries.names[query], kind, [its.targets.names[each] for each in right], columns)


def typed(stage: Stage, setting: Setting, text: str, vector: FloatArray, wanted: Wanted = always) -> Comparison:
    """Words of somebody's own, once they are a vector: what is right nobody knows.

    Only methods that are a bias can answer a single query.
    """
    its = stage.scene(setting, wanted).material
    if its.vectors is None:
        raise InputError("there are only scores here and no vectors, so that no words can be asked.")
    refuse_other_space(vector, its.vectors)
    row = its.vectors.targets @ (unit(vector[None])[0] if its.scaled else vector)
    columns: list[Column] = []
    for scene in _scenes(stage, setting, wanted):
        if scene.after.bias is None and scene.setting.method != "none":
            continue
        fixed = row if scene.after.bias is None else row + scene.after.bias
        scores, top = top_k(fixed[None, :], ANSWERS)
        columns.append(_column(scene, top[0], scores[0], None, columns[:1], None))
    return Comparison(None, text, None, [], columns)


def refuse_other_space(vector: FloatArray, vectors: Vectors) -> None:
    """An error where a vector that was made of words cannot be compared with the targets'."""
    wanted = vectors.targets.shape[1:]
    if vector.shape != wanted:
        raise InputError(
            f"the encoder made an array of shape {vector.shape} of a text but targets have {wanted[0]} numbers; use "
            f"the model that made the targets."
        )
    if not np.isfinite(vector).all():
        raise InputError("the encoder made a vector of NaN of the text; try other words, or check the encoder.")


def _scenes(stage: Stage, setting: Setting, wanted: Wanted) -> Iterator[Scene]:
    """None, IS, SN and DBSN, and what is chosen; a correction stands in the place of its own method."""
    material = stage.scene(setting, wanted).material
    can = methods_of(material, setting.bank)
    names = [each for each in COLUMNS if each in can]
    if SAVED in can:
        own = material.method(SAVED, True).name
        names = [SAVED if each == own else each for each in names] if own in names else [*names, SAVED]
    for name in dict.fromkeys((*names, setting.method)):
        mine = setting if name == setting.method else replace(setting, method=name, tau=None, strength=None)
        yield stage.scene(mine, wanted)


def _column(
    scene: Scene,
    top: IntArray,
    scores: FloatArray | None,
    rank: float | None,
    first: list[Column],
    query: int | None,
) -> Column:
    """What a method answers; first: the column without a correction, once it is there."""
    reading, label = scene.reading, scene.setting.method
    right = [] if query is None else reading.right(query)
    places = {each.target: place for column in first for place, each in enumerate(column.answers, 1)}
    answers = [
        Answer(
            target=target,
            name=reading.targets.names[target],
            media=reading.kind_of(target),
            score=None if scores is None else float(scores[at]),
            right=target in right,
            before=places.get(target) if first else at + 1,
        )
        for at, target in enumerate(top.tolist())
    ]
    tau = None if label == "none" else temperature(scene.method)
    return Column(label, listed_name(label, scene.method.name), tau, rank, answers)
