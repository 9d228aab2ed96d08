"""A query and the results of several methods, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from unhub.analysis.changes import ranks
from unhub.analysis.model import Answer, Column, Comparison
from unhub.analysis.session import SAVED, BeforeAfter, Session, ViewSettings, Wanted, always, listed_name, temperature
from unhub.core.arrays import unit_rows
from unhub.core.topk import top_k
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.io import Rows
from unhub.scores import whole_matrix

COLUMNS = ("none", "is", "sn", "dbsn")
ANSWERS = 10


def comparison(session: Session, settings: ViewSettings, query: int, wanted: Wanted = always) -> Comparison:
    """A test query; the method of the view has the view's temperature, others have the session's."""
    ranked = session.before_after(settings, wanted)
    its, pair = ranked.sample, ranked.pair
    if not 0 <= query < its.relevance.queries:
        raise InputError(f"there is no query {query}; they are counted from 0 to {its.relevance.queries - 1:,}.")
    assert ranked.task.scores is not None
    scores = np.asarray(ranked.task.scores.read(query, query + 1))[0]
    columns: list[Column] = []
    for each in _rankings(session, settings, wanted):
        top, bias = each.after.top[query, :ANSWERS], each.after.bias
        comparable = bias is not None or each.settings.method == "none"
        shown = scores[top] + (0.0 if bias is None else bias[top]) if comparable else None
        rank = float(ranks(each.after)[query]) if its.judged else math.nan
        columns.append(_column(each, top, shown, None if math.isnan(rank) else rank, columns[:1], query))
    media = its.queries.media[query]
    kind = None if media is None else media.kind
    right = [its.targets.names[each] for each in pair.right(query).tolist()]
    return Comparison(query, its.queries.names[query], kind, right, columns)


def typed_comparison(
    session: Session, settings: ViewSettings, text: str, vector: FloatArray, wanted: Wanted = always
) -> Comparison:
    """A typed query as a vector; nobody knows what is relevant. Only additive methods can answer a single query."""
    ranked = session.before_after(settings, wanted)
    targets, reader = ranked.task.targets, session.data.reader
    if targets is None:
        raise InputError("this session has scores and no vectors, so typed queries cannot be asked.")
    check_query_vector(vector, targets)
    query = unit_rows(vector[None]) if reader.metric == "cosine" else vector[None]
    scores = whole_matrix(reader.products(Rows(query.astype(np.float32), name="queries"), targets))[0]
    columns: list[Column] = []
    for each in _rankings(session, settings, wanted):
        bias = each.after.bias
        if bias is None and each.settings.method != "none":
            continue
        values, top = top_k((scores if bias is None else scores + bias)[None, :], ANSWERS)
        columns.append(_column(each, top[0], values[0], None, columns[:1], None))
    return Comparison(None, text, None, [], columns)


def check_query_vector(vector: FloatArray, targets: Rows) -> None:
    """Refuses a vector that an encoder made if it cannot be compared with the targets."""
    if vector.shape != targets.shape[1:]:
        raise InputError(
            f"the encoder made an array of shape {vector.shape} of a text but targets have {targets.shape[1]} numbers; "
            f"use the model that made the targets."
        )
    if not np.isfinite(vector).all():
        raise InputError("the encoder made a vector of NaN of the text; try other words, or check the encoder.")


def _rankings(session: Session, settings: ViewSettings, wanted: Wanted) -> Iterator[BeforeAfter]:
    """No correction, IS, SN, DBSN and the chosen method; a saved correction replaces its own method."""
    available = session.methods_of(settings.direction, settings.bank)
    names = [each for each in COLUMNS if each in available]
    if SAVED in available:
        own = session.method(SAVED, settings.direction, settings.bank).name
        names = [SAVED if each == own else each for each in names] if own in names else [*names, SAVED]
    for name in dict.fromkeys((*names, settings.method)):
        other = replace(settings, method=name, tau=None, strength=None)
        yield session.before_after(settings if name == settings.method else other, wanted)


def _column(
    ranked: BeforeAfter,
    top: IntArray,
    scores: FloatArray | None,
    rank: float | None,
    first: list[Column],
    query: int | None,
) -> Column:
    """The results of a method; first: the column with no correction, once it is there."""
    pair, label = ranked.pair, ranked.settings.method
    right = np.zeros(len(top), dtype=bool) if query is None else pair.are_right(query, top)
    places = {each.target: place for column in first for place, each in enumerate(column.answers, 1)}
    answers = []
    for at, target in enumerate(top.tolist()):
        media = pair.targets.media[target]
        kind = None if media is None else media.kind
        score = None if scores is None else float(scores[at])
        before = places.get(target) if first else at + 1
        answers.append(Answer(target, pair.targets.names[target], kind, score, bool(right[at]), before))
    tau = None if label == "none" else temperature(ranked.method)
    return Column(label, listed_name(label, ranked.method.name), tau, rank, answers)
