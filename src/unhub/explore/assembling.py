"""From whole arrays to material: sampled where they are large, multiplied once, and said so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from unhub.banks import EmbeddingBank, search
from unhub.core.bias import Bias
from unhub.experiments.views import Side
from unhub.explore.material import Learnt, Material, Vectors
from unhub.explore.samples import (
    BANK_CELLS,
    TEST_CELLS,
    Sample,
    queries_kept,
    sampled,
    targets_kept,
    targets_that_matter,
)
from unhub.foundation.types import FloatArray, IntArray
from unhub.methods import Method
from unhub.metrics import Relevance

T = TypeVar("T")
BLOCK = 1024
FEW = 200
"""bank queries that stay, however large the rest is"""
DEPTH = 50
"""places of every query whose targets stay in a sample of a large gallery"""


@dataclass(frozen=True, eq=False)
class GivenBank:
    """A whole bank: its embeddings, or its matrices; neither for the test queries as the bank."""

    name: str
    queries: FloatArray | None = None
    targets: FloatArray | None = None
    scores: FloatArray | None = None
    cross: FloatArray | None = None
    target_scores: FloatArray | None = None
    names: Sequence[str] | None = None
    shared: int = 0
    weight: FloatArray | None = None
    """of each of its queries, where they do not count the same"""

    @property
    def size(self) -> int:
        """How many queries it has."""
        own = self.queries if self.scores is None else self.scores
        return 0 if own is None else len(own)


@dataclass(frozen=True, eq=False)
class Given:
    """A whole test set in one direction: unit embeddings of both sides, or a matrix of scores."""

    direction: str
    queries: FloatArray | None
    targets: FloatArray | None
    scores: FloatArray | None
    relevance: Relevance
    judged: bool
    sides: tuple[Side, Side]
    ids: tuple[Sequence[str], Sequence[str]]
    banks: Sequence[GivenBank]
    method: Callable[[str, bool], Method]
    noun: str = "targets"
    ties: str = "average"
    ignore_self: bool = False
    seed: int = 0
    notes: tuple[str, ...] = ()
    bias: Bias | None = None
    fitted_on: str | None = None
    media_folder: Path | None = None
    cells: tuple[int, int] = field(default=(TEST_CELLS, BANK_CELLS))


def assembled(given: Given) -> Material:
    """The material of a test set; what was left out is among its notes."""
    rng = np.random.default_rng(given.seed)
    queries, targets = _kept(given, rng)
    few = queries.rows if queries.said else None
    only = targets.rows if targets.said else None
    banks = {bank.name: _learnt(bank, given, queries.rows, only, rng) for bank in given.banks}
    said = [each.said for each in (queries, targets) if each.said]
    notes = [f"This is a sample: {', and '.join(said)}."] if said else []
    both = given.queries is not None and given.targets is not None
    return Material(
        direction=given.direction,
        scores=_test_scores(given, queries.rows, targets.rows),
        relevance=_relevance(given.relevance, queries.rows, targets.rows),
        judged=given.judged,
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
        vectors=Vectors(given.queries[queries.rows], given.targets[targets.rows]) if both else None,  # type: ignore[index]
        fitted=_bias(given.bias, targets.rows),
        fitted_on=given.fitted_on,
        media_folder=given.media_folder,
    )


def _kept(given: Given, rng: np.random.Generator) -> tuple[Sample, Sample]:
    count, gallery = given.relevance.queries, given.relevance.gallery
    if given.ignore_self:  # an item is query and target at once
        same = sampled(gallery, int(given.cells[0] ** 0.5), "items", rng)
        return same, same
    queries = sampled(count, queries_kept(count, gallery, given.cells[0]), "queries", rng)
    most = targets_kept(gallery, given.cells[0])
    if gallery <= most:
        return queries, Sample(np.arange(gallery))
    right = given.relevance.targets[np.isin(given.relevance.query_rows, queries.rows)]
    kept = targets_that_matter(_top(given, queries.rows), right, gallery, most, rng)
    said = f"{len(kept):,} of {gallery:,} targets (what is right, what is retrieved, and some of the rest)"
    return queries, Sample(kept, said)


def _top(given: Given, rows: IntArray) -> IntArray:
    """The best of every query among all targets, with the saved bias or without one."""
    if given.scores is not None:
        from unhub.core.topk import top_k

        return top_k(given.scores[rows], DEPTH)[1]
    assert given.queries is not None
    assert given.targets is not None
    bank = EmbeddingBank(given.queries[rows], given.targets, BLOCK)
    nothing = np.zeros(len(given.targets), dtype=np.float32)
    found = [search(bank, nothing, DEPTH)[1]]
    if given.bias is not None:
        found.append(search(bank, given.bias.values.astype(np.float32), DEPTH)[1])
    return np.stack(found, axis=2).reshape(len(rows), -1)


def _test_scores(given: Given, queries: IntArray, targets: IntArray) -> FloatArray:
    if given.scores is not None:
        return np.ascontiguousarray(given.scores[np.ix_(queries, targets)], dtype=np.float32)
    assert given.queries is not None
    assert given.targets is not None
    return given.queries[queries] @ given.targets[targets].T


def _learnt(bank: GivenBank, given: Given, asked: IntArray, only: IntArray | None, rng: np.random.Generator) -> Learnt:
    """The bank before the targets that are kept, as many queries of it as its scores may be."""
    if bank.size == 0:
        return Learnt(bank.name, len(asked), asked, given.sides[0].names, None)
    gallery = given.relevance.gallery if only is None else len(only)
    others = 0 if bank.targets is None else len(bank.targets)
    if bank.cross is not None:
        others = bank.cross.shape[1]
    rows = sampled(bank.size, max(FEW, given.cells[1] // max(1, gallery + others)), "bank queries", rng).rows
    part = slice(None) if len(rows) == bank.size else rows
    cross, by_target = bank.cross, bank.target_scores
    if bank.scores is not None:
        scores = bank.scores[part] if only is None else bank.scores[part][:, only]
        cross = None if cross is None else cross[part]
        by_target = by_target if by_target is None or only is None else by_target[:, only]
    else:
        assert bank.queries is not None
        assert given.targets is not None
        targets = given.targets if only is None else given.targets[only]
        scores = bank.queries[part] @ targets.T
        if bank.targets is not None:
            cross, by_target = bank.queries[part] @ bank.targets.T, bank.targets @ targets.T
    vectors = None if bank.queries is None else bank.queries[part]
    return Learnt(
        bank.name,
        bank.size,
        rows,
        bank.names,
        scores,
        cross,
        by_target,
        vectors,
        bank.targets,
        bank.shared,
        None if bank.weight is None else bank.weight[part],
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


def _side(side: Side, rows: IntArray | None, folder: Path | None) -> Side:
    """The items that stay; a file that a link leads to from elsewhere is not shown."""
    media = [each if each is not None and folder and each.inside(folder) else None for each in _some(side.media, rows)]
    return Side(_some(side.names, rows), media)


def _some(values: Sequence[T], rows: IntArray | None) -> Sequence[T]:
    return values if rows is None else [values[row] for row in rows.tolist()]


def _bias(bias: Bias | None, rows: IntArray) -> Bias | None:
    if bias is None or len(rows) == len(bias.values):
        return bias
    return Bias(bias.values[rows], bias.offset, bias.status, bias.iterations, bias.marginal_error, bias.potentials)


def no_relevance(queries: int, gallery: int) -> Relevance:
    """Nothing is known to be right."""
    return Relevance.from_sets([()] * queries, gallery, allow_empty=True)


def unit(rows: FloatArray) -> FloatArray:
    """The rows at length one, float32."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
