"""The arrays of an import, before anything is written: score matrices or embeddings, of the test set and its banks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unhub.core.checks import UNIT_TOLERANCE
from unhub.experiments.importing.answers import Answers, Targets, distinct
from unhub.experiments.importing.dump import other_scale, scale_of
from unhub.experiments.importing.matrices import Matrix, lengths, measure_scores, oriented, repeated_rows
from unhub.experiments.importing.reading import Opener, SourceArray
from unhub.foundation.errors import InputError
from unhub.foundation.types import BoolArray

Banks = Mapping[str, Sequence[str]]
"""the files of each bank, by its name"""


@dataclass(frozen=True, eq=False)
class SourceArrays:
    """The arrays of an experiment, by where its file names them, and what they tell about queries and targets."""

    parts: dict[str, Matrix]
    used: BoolArray
    """(published query,): whether it is taken"""
    targets: Targets
    answers: Answers | None = None
    """for each published query, where the shape of an array tells"""
    settings: dict[str, Any] = field(default_factory=dict)
    divisor: float = 1.0
    notes: tuple[str, ...] = ()


def read_masks(opener: Opener, masks: str | None, queries: int) -> BoolArray:
    """(query,): whether its mask, if there are any, is not 0."""
    if masks is None:
        return np.ones(queries, dtype=bool)
    found = opener.array(masks, "masks", dims=(1, 2), kinds="fiub")
    values = np.asarray(found.array)
    if values.size != queries:
        shape = " x ".join(f"{each:,}" for each in values.shape)
        raise found.problem(f"has {shape} masks but there are {queries:,} queries; give one for each.")
    if not np.isin(values, (0, 1)).all():
        raise found.problem("has other values than 0 (no such query) and 1; give masks.")
    used: BoolArray = values.ravel() != 0
    if not used.any():
        raise found.problem("masks every query; nothing is left.")
    return used


def present(*sentences: str | None) -> tuple[str, ...]:
    """The sentences that there are."""
    return tuple(each for each in sentences if each is not None)


SCORE_PARTS = ("scores", "cross", "target_scores")


@dataclass(frozen=True, eq=False)
class BankScores:
    """The matrices of one bank by their place in the experiment, and the largest of its scores."""

    parts: dict[str, Matrix]
    largest: float
    notes: tuple[str, ...]


def bank_scores(opener: Opener, name: str, sources: Sequence[str], targets: Targets, *, transpose: bool) -> BankScores:
    """A bank of one matrix, for methods that learn from queries, or of three, for those that have targets too."""
    if len(sources) not in (1, len(SCORE_PARTS)):
        raise InputError(
            f"bank {name} has {len(sources)} matrices; give one (bank queries x test targets), or three with commas "
            f"between them: that, bank queries x bank targets, bank targets x test targets."
        )
    matrices = [
        oriented(opener.array(source, f"bank {name}, {part}", dims=(2, 3)), transpose=transpose)
        for part, source in zip(SCORE_PARTS, sources, strict=False)
    ]
    scores = _of_test(matrices[0], targets)
    seen = measure_scores(scores, padded=True)
    parts = {f"banks.{name}.scores": scores.only(~seen.padding)}
    notes = f"rows of -inf (padding) in bank {name}, left out: {seen.padding.sum():,}" if seen.padding.any() else None
    if len(matrices) == 1:
        return BankScores(parts, seen.largest, present(notes))
    _, cross, between = matrices
    _same_items(cross, scores.shape[0], scores, "bank queries")
    cross = cross.only(~seen.padding)
    others = distinct(measure_scores(cross).repeats, f"columns of bank {name}, cross")
    _same_items(between, cross.shape[1], cross, "bank targets")
    between = replace(_of_test(between, targets), rows=others.firsts)
    measure_scores(between)
    parts[f"banks.{name}.cross"] = replace(cross, columns=others.firsts)
    parts[f"banks.{name}.target_scores"] = between
    return BankScores(parts, seen.largest, present(notes, others.note))


def _of_test(matrix: Matrix, targets: Targets) -> Matrix:
    """The matrix with the columns of the test targets; it may have those that repeat, or each once."""
    columns = matrix.shape[1]
    if columns == targets.count:
        return matrix
    if columns != targets.published:
        raise matrix.found.problem(
            f"has {columns:,} columns but the test set has {targets.published:,} targets; give the scores of bank "
            f"items with the test targets."
        )
    return replace(matrix, columns=targets.firsts)


def _same_items(matrix: Matrix, wanted: int, other: Matrix, what: str) -> None:
    if matrix.shape[0] != wanted:
        raise matrix.found.problem(
            f"has {matrix.shape[0]:,} rows but {other.found.name} has {wanted:,} {what}; give the same items."
        )


def read_scores(
    opener: Opener, source: str, banks: Banks, *, masks: str | None, transpose: bool, scale: str | float
) -> SourceArrays:
    """The test matrix and those of banks: padding left out, repeated targets taken once, logits divided."""
    found = opener.array(source, "scores", dims=(2, 3))
    matrix = oriented(found, transpose=transpose)
    answers = _by_shape(found)
    used = read_masks(opener, masks, matrix.shape[0])
    masked = int((~used).sum())
    matrix = matrix.only(used)
    seen = measure_scores(matrix, padded=True)
    used[np.flatnonzero(used)[seen.padding]] = False
    width = matrix.shape[1]
    targets = distinct(seen.repeats, "columns of scores") if answers is None else Targets(np.arange(width))
    chosen = scale_of(seen.low, seen.high, scale)
    parts = {"test.scores": replace(matrix.only(~seen.padding), columns=targets.firsts)}
    notes = [
        *present(f"masked queries, left out: {masked:,}" if masked else None),
        *present(f"rows of -inf (padding), left out: {seen.padding.sum():,}" if seen.padding.any() else None),
        *present(targets.note, chosen.note),
    ]
    for name, sources in banks.items():
        bank = bank_scores(opener, name, sources, targets, transpose=transpose)
        parts |= bank.parts
        notes += present(*bank.notes, other_scale(name, bank.largest, seen.largest))
    return SourceArrays(
        parts={where: replace(each, divisor=chosen.divisor) for where, each in parts.items()},
        used=used,
        targets=targets,
        answers=answers,
        settings={} if chosen.cosines else {"tau": "auto"},
        divisor=chosen.divisor,
        notes=tuple(notes),
    )


def _by_shape(found: SourceArray) -> Answers | None:
    """The target of each row of an array (target, queries of it, target)."""
    if found.array.ndim == 2:
        return None
    own, most, targets = found.array.shape
    if own != targets:
        raise found.problem(
            f"has shape {found.array.shape}; three dimensions are (target, its queries, target), and the first is as "
            f"long as the last."
        )
    return Answers(np.repeat(np.arange(own), most), f"queries by target, up to {most:,} for each")


VECTOR_PARTS = ("queries", "targets")
QUERIES, TARGETS = "test.queries", "test.targets"


def read_vectors(opener: Opener, queries: str, targets: str, banks: Banks, *, masks: str | None) -> SourceArrays:
    """The embeddings of the test set and of banks; a target that is repeated for each of its queries is taken once."""
    parts = {QUERIES: _opened(opener, queries, "queries"), TARGETS: _opened(opener, targets, "targets")}
    for name, sources in banks.items():
        if len(sources) > len(VECTOR_PARTS):
            raise InputError(f"bank {name} has {len(sources)} files; give its queries and, after a comma, its targets.")
        for part, source in zip(VECTOR_PARTS, sources, strict=False):
            parts[f"banks.{name}.{part}"] = _opened(opener, source, f"bank {name}, {part}")
    used = read_masks(opener, masks, parts[QUERIES].shape[0])
    masked = int((~used).sum())
    parts[QUERIES] = parts[QUERIES].only(used)
    odd = _checked(parts)
    notes = [f"masked queries, left out: {masked:,}"] if masked else []
    once: dict[str, Targets] = {}
    for where, matrix in parts.items():
        if where.endswith(".targets"):
            once[where] = distinct(repeated_rows(matrix), f"rows of {matrix.found.name}")
            parts[where] = replace(matrix, rows=once[where].firsts)
            notes += present(once[where].note)
    if odd is not None:
        notes.append(f"embeddings have lengths from {odd[0]:.3g} to {odd[1]:.3g}; normalize = true scales them")
    return SourceArrays(
        parts, used, once[TARGETS], settings={} if odd is None else {"normalize": True}, notes=tuple(notes)
    )


def _opened(opener: Opener, source: str, name: str) -> Matrix:
    return oriented(opener.array(source, name), transpose=False)


def _checked(parts: dict[str, Matrix]) -> tuple[float, float] | None:
    """The shortest and the longest embedding, if they are not of unit length; those that cannot be used are refused."""
    dim = parts[TARGETS].shape[1]
    seen: list[float] = []
    for matrix in parts.values():
        if matrix.shape[1] != dim:
            raise matrix.found.problem(
                f"has dimension {matrix.shape[1]} but targets have {dim}; give embeddings of one model."
            )
        seen += lengths(matrix)
    unit = min(seen) >= 1 - UNIT_TOLERANCE and max(seen) <= 1 + UNIT_TOLERANCE
    return None if unit else (min(seen), max(seen))
