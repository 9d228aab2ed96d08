"""From whole arrays to material: sampled where they are large, multiplied once, and said so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from unhub.analysis.given import Given, GivenBank
from unhub.analysis.material import Learnt, Material, Vectors
from unhub.analysis.samples import (
    FEWEST,
    Sample,
    queries_kept,
    sampled,
    targets_kept,
)
from unhub.core.bias import Bias
from unhub.dataset import Items
from unhub.foundation.types import FloatArray, IntArray
from unhub.metrics import Relevance

T = TypeVar("T")


def assembled(given: Given) -> Material:
    """The material of a test set; what was left out is among its notes."""
    rng = np.random.default_rng(given.seed)
    queries, targets = _kept(given, rng)
    few = queries.rows if queries.said else None
    only = targets.rows if targets.said else None
    banks = {bank.name: _learnt(bank, given, queries.rows, only, rng) for bank in given.banks}
    said = [each.said for each in (queries, targets) if each.said]
    notes = [f"This is a sample: {', and '.join(said)}."] if said else []
    relevance = _relevance(given.relevance, queries.rows, targets.rows)
    return Material(
        direction=given.direction,
        scores=_test_scores(given, queries.rows, targets.rows),
        relevance=relevance,
        judged=given.judged and bool(relevance.judged().any()),
        asked=given.relevance.queries,
        queries=_side(given.sides[0], few, given.media_folder),
        targets=_side(given.sides[1], only, given.media_folder),
        query_ids=_some(given.ids[0], few),
        target_ids=_some(given.ids[1], only),
        banks=banks,
        method=given.method,
        noun=given.noun,
        ties=given.ties,
        ignore_self=given.ignore_self,
        seed=given.seed,
        notes=(*given.notes, *notes),
        vectors=_vectors(given, queries.rows, targets.rows),
        fitted=_bias(given.bias, targets.rows),
        fitted_on=given.fitted_on,
        scaled=given.scaled,
        media_folder=given.media_folder,
    )


def _kept(given: Given, rng: np.random.Generator) -> tuple[Sample, Sample]:
    count, gallery = given.relevance.queries, given.relevance.gallery
    if given.ignore_self:  # an item is query and target at once
        same = sampled(gallery, int(given.cells[0] ** 0.5), "items", rng)
        return same, same
    shown = min(gallery, given.most_targets)
    queries = sampled(count, queries_kept(count, shown, given.cells[0]), "queries", rng)
    right = given.relevance.targets[np.isin(given.relevance.query_rows, queries.rows)]
    return queries, targets_kept(right, gallery, given.most_targets, rng)


def _vectors(given: Given, queries: IntArray, targets: IntArray) -> Vectors | None:
    if given.queries is None or given.targets is None:
        return None
    return Vectors(given.queries[queries], given.targets[targets])


def _test_scores(given: Given, queries: IntArray, targets: IntArray) -> FloatArray:
    if given.scores is not None:
        return np.ascontiguousarray(given.scores[np.ix_(queries, targets)], dtype=np.float32)
    assert given.queries is not None
    assert given.targets is not None
    return given.queries[queries] @ given.targets[targets].T


def _learnt(bank: GivenBank, given: Given, asked: IntArray, only: IntArray | None, rng: np.random.Generator) -> Learnt:
    """The bank before the targets that are kept, as many queries and targets of it as its scores may be."""
    if bank.size == 0:
        return Learnt(bank.name, len(asked), asked, given.sides[0].names, None)
    gallery = given.relevance.gallery if only is None else len(only)
    most = given.cells[1] // max(1, gallery)
    others = sampled(bank.target_count, max(FEWEST, most), "bank targets", rng)
    rows = sampled(bank.size, max(FEWEST, given.cells[1] // (gallery + len(others.rows))), "bank queries", rng).rows
    part = slice(None) if len(rows) == bank.size else rows
    second = slice(None) if others.said is None else others.rows
    cross, by_target, their_vectors = bank.cross, bank.target_scores, None
    if bank.scores is not None:
        scores = bank.scores[part] if only is None else bank.scores[part][:, only]
        cross = None if cross is None else cross[part][:, second]
        by_target = None if by_target is None else by_target[second]
        by_target = by_target if by_target is None or only is None else by_target[:, only]
    else:
        assert bank.queries is not None
        assert given.targets is not None
        targets = given.targets if only is None else given.targets[only]
        scores = bank.queries[part] @ targets.T
        if bank.targets is not None:
            their_vectors = bank.targets[second]
            cross, by_target = bank.queries[part] @ their_vectors.T, their_vectors @ targets.T
    return Learnt(
        name=bank.name,
        size=bank.size,
        rows=rows,
        names=bank.names,
        scores=scores,
        cross=cross,
        target_scores=by_target,
        vectors=None if bank.queries is None else bank.queries[part],
        target_vectors=their_vectors,
        whole=bank.queries,
        shared=bank.shared,
        weight=bank.weight,
        targets_said=others.said,
    )


def _relevance(whole: Relevance, queries: IntArray, targets: IntArray) -> Relevance:
    if len(queries) == whole.queries and len(targets) == whole.gallery:
        return whole
    place_of_query, place_of_target = (np.full(size, -1) for size in (whole.queries, whole.gallery))
    place_of_query[queries], place_of_target[targets] = np.arange(len(queries)), np.arange(len(targets))
    rows, columns = place_of_query[whole.query_rows], place_of_target[whole.targets]
    kept = (rows >= 0) & (columns >= 0)
    return Relevance.from_pairs(
        rows[kept],
        columns[kept],
        queries=len(queries),
        gallery=len(targets),
        gains=whole.gains[kept],
        allow_empty=True,
    )


def _side(side: Items, rows: IntArray | None, folder: Path | None) -> Items:
    """The items that stay; a file that a link leads to from elsewhere is not shown."""
    media = [each if each is not None and folder and each.inside(folder) else None for each in _some(side.media, rows)]
    return Items(_some(side.ids, rows), _some(side.names, rows), media)


def _some(values: Sequence[T], rows: IntArray | None) -> Sequence[T]:
    return values if rows is None else [values[row] for row in rows.tolist()]


def _bias(bias: Bias | None, rows: IntArray) -> Bias | None:
    if bias is None or len(rows) == len(bias.values):
        return bias
    return Bias(bias.values[rows], bias.offset, bias.status, bias.iterations, bias.marginal_error, bias.potentials)
