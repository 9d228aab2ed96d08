"""The arrays of an import, before anything is written: score matrices or embeddings, of the test set and its banks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unhub.core.checks import UNIT_TOLERANCE
from unhub.experiments.importing.answers import Answers, Targets, distinct
from unhub.experiments.importing.matrices import Matrix, lengths, measure_scores, oriented, repeated_rows
from unhub.experiments.importing.reading import AUTO, Dump, Opener, SourceArray
from unhub.foundation.errors import InputError
from unhub.foundation.types import BoolArray
from unhub.methods import COSINE_LIMIT

CLIP_SCALE = 100.0
LEAST, MOST = 14.5, 105.0
"""the largest of a hundred times some cosines: they are rarely all below .145, and rounding takes them little past 1;
below that, a model may have begun with CLIP's first scale, 14.3, and kept it"""
APART = 10.0
"""times by which the largest scores of a bank and of the test set differ at the most, if they are of one scale"""


@dataclass(frozen=True)
class Scale:
    """What scores are divided by, whether they are cosines then, and a note."""

    divisor: float
    cosines: bool
    notes: tuple[str, ...] = ()


def scale_of(low: float, high: float, scale: str | float) -> Scale:
    """The scale of scores in this range: a number, or what "auto" makes of them.

    >>> scale_of(-12.0, 41.0, "auto").divisor
    100.0
    """
    clip = high >= LEAST and max(-low, high) <= MOST
    divisor = float(scale) if scale != AUTO else CLIP_SCALE if clip else 1.0
    largest = max(-low, high) / divisor
    cosines = largest <= COSINE_LIMIT
    note = ""
    if divisor != 1:
        ground = "CLIP's scale" if scale == AUTO else "as asked"
        note = f"scores ran from {low:.3g} to {high:.3g} and were divided by {divisor:g} ({ground}): "
        note += f"they run from {low / divisor:.3g} to {high / divisor:.3g}"
    elif not cosines:
        note = f"scores run from {low:.3g} to {high:.3g} and are no cosines; they were left as they are"
    if not cosines:
        note = f'{note}, and tau = "auto" follows them'
    return Scale(divisor, cosines, (note,) if note else ())


def other_scale(bank: str, largest: float, of_test: float) -> list[str]:
    """A note if the scores of a bank are far larger or smaller than those of the test set."""
    if not of_test or not largest or 1 / APART < largest / of_test < APART:
        return []
    return [
        f"scores of the bank {bank} go up to {largest:.3g} and those of the test set to {of_test:.3g} in the files: "
        f"look whether they are of one scale"
    ]


@dataclass(frozen=True, eq=False)
class SourceArrays:
    """The arrays of an experiment, by where its file names them, and what they say of queries and targets."""

    parts: dict[str, Matrix]
    used: BoolArray
    """(published query,): whether it is taken"""
    targets: Targets
    answers: Answers | None = None
    """for each published query, where the shape of an array says so"""
    settings: dict[str, Any] = field(default_factory=dict)
    divisor: float = 1.0
    notes: tuple[str, ...] = ()


def read_masks(opener: Opener, masks: str | None, queries: int) -> BoolArray:
    """(query,): whether its mask, if there are any, is not 0."""
    if masks is None:
        return np.ones(queries, dtype=bool)
    file = opener.array(masks, "masks", dims=(1, 2), kinds="fiub")
    values = np.asarray(file.array)
    if values.size != queries:
        shape = " x ".join(f"{each:,}" for each in values.shape)
        raise file.problem(f"has {shape} masks but there are {queries:,} queries; give one for each.")
    if not np.isin(values, (0, 1)).all():
        raise file.problem("has other values than 0 (no such query) and 1; give masks.")
    used: BoolArray = values.ravel() != 0
    if not used.any():
        raise file.problem("masks every query; nothing is left.")
    return used


def _left_out(what: str, rows: BoolArray) -> list[str]:
    """A note on rows that are left out, if any are."""
    return [f"{what}, left out: {rows.sum():,}"] if rows.any() else []


SCORE_PARTS = ("scores", "cross", "target_scores")


def bank_scores(
    opener: Opener, name: str, sources: Sequence[str], targets: Targets, *, transpose: bool
) -> tuple[dict[str, Matrix], float, list[str]]:
    """The matrices of a bank by their place in the experiment, the largest of its scores, and notes.

    One matrix is for methods that use queries only, three for those that use targets too.
    """
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
    stats = measure_scores(scores, padded=True)
    parts = {f"banks.{name}.scores": scores.only(~stats.padding)}
    notes = _left_out(f"rows of -inf (padding) in bank {name}", stats.padding)
    if len(matrices) == 1:
        return parts, stats.largest, notes
    _, cross, between = matrices
    _same_items(cross, scores.shape[0], scores, "bank queries")
    cross = cross.only(~stats.padding)
    others = distinct(measure_scores(cross).repeats, f"columns of bank {name}, cross")
    _same_items(between, cross.shape[1], cross, "bank targets")
    between = replace(_of_test(between, targets), rows=others.firsts)
    measure_scores(between)
    parts[f"banks.{name}.cross"] = replace(cross, columns=others.firsts)
    parts[f"banks.{name}.target_scores"] = between
    return parts, stats.largest, [*notes, *others.notes]


def _of_test(matrix: Matrix, targets: Targets) -> Matrix:
    """The matrix with the columns of the test targets; it may have those that repeat, or each once."""
    columns = matrix.shape[1]
    if columns == targets.count:
        return matrix
    if columns != targets.published:
        raise matrix.file.problem(
            f"has {columns:,} columns but the test set has {targets.published:,} targets; give the scores of bank "
            f"items with the test targets."
        )
    return replace(matrix, columns=targets.firsts)


def _same_items(matrix: Matrix, wanted: int, other: Matrix, what: str) -> None:
    if matrix.shape[0] != wanted:
        raise matrix.file.problem(
            f"has {matrix.shape[0]:,} rows but {other.file.name} has {wanted:,} {what}; give the same items."
        )


def read_scores(opener: Opener, source: str, dump: Dump) -> SourceArrays:
    """The test matrix and those of banks: padding left out, repeated targets taken once, logits divided."""
    file = opener.array(source, "scores", dims=(2, 3))
    matrix = oriented(file, transpose=dump.transpose)
    answers = _by_shape(file)
    used = read_masks(opener, dump.masks, matrix.shape[0])
    notes = _left_out("masked queries", ~used)
    matrix = matrix.only(used)
    stats = measure_scores(matrix, padded=True)
    used[np.flatnonzero(used)[stats.padding]] = False
    width = matrix.shape[1]
    targets = distinct(stats.repeats, "columns of scores") if answers is None else Targets(np.arange(width))
    scale = scale_of(stats.low, stats.high, dump.scale)
    parts = {"test.scores": replace(matrix.only(~stats.padding), columns=targets.firsts)}
    notes += [*_left_out("rows of -inf (padding)", stats.padding), *targets.notes, *scale.notes]
    for name, sources in dump.banks.items():
        own, largest, of_bank = bank_scores(opener, name, sources, targets, transpose=dump.transpose)
        parts |= own
        notes += [*of_bank, *other_scale(name, largest, stats.largest)]
    settings = {} if scale.cosines else {"tau": "auto"}
    parts = {where: replace(each, divisor=scale.divisor) for where, each in parts.items()}
    return SourceArrays(parts, used, targets, answers, settings, scale.divisor, tuple(notes))


def _by_shape(file: SourceArray) -> Answers | None:
    """The target of each row of an array (target, queries of it, target)."""
    if file.array.ndim == 2:
        return None
    own, most, targets = file.array.shape
    if own != targets:
        raise file.problem(
            f"has shape {file.array.shape}; three dimensions are (target, its queries, target), and the first is as "
            f"long as the last."
        )
    return Answers(np.repeat(np.arange(own), most), f"queries by target, up to {most:,} for each")


VECTOR_PARTS = ("queries", "targets")
QUERIES, TARGETS = "test.queries", "test.targets"


def read_vectors(opener: Opener, dump: Dump) -> SourceArrays:
    """The embeddings of the test set and of banks; a target that is repeated for each of its queries is taken once."""
    assert dump.queries is not None
    assert dump.targets is not None
    parts = {QUERIES: _open(opener, dump.queries, "queries"), TARGETS: _open(opener, dump.targets, "targets")}
    for name, sources in dump.banks.items():
        if len(sources) > len(VECTOR_PARTS):
            raise InputError(f"bank {name} has {len(sources)} files; give its queries and, after a comma, its targets.")
        for part, source in zip(VECTOR_PARTS, sources, strict=False):
            parts[f"banks.{name}.{part}"] = _open(opener, source, f"bank {name}, {part}")
    used = read_masks(opener, dump.masks, parts[QUERIES].shape[0])
    parts[QUERIES] = parts[QUERIES].only(used)
    odd = _odd_lengths(parts)
    notes = _left_out("masked queries", ~used)
    once: dict[str, Targets] = {}
    for where, matrix in parts.items():
        if where.endswith(".targets"):
            once[where] = distinct(repeated_rows(matrix), f"rows of {matrix.file.name}")
            parts[where] = replace(matrix, rows=once[where].firsts)
            notes += once[where].notes
    if odd is not None:
        notes.append(f"embeddings have lengths from {odd[0]:.3g} to {odd[1]:.3g}; normalize = true scales them")
    settings = {} if odd is None else {"normalize": True}
    return SourceArrays(parts, used, once[TARGETS], settings=settings, notes=tuple(notes))


def _open(opener: Opener, source: str, name: str) -> Matrix:
    return oriented(opener.array(source, name), transpose=False)


def _odd_lengths(parts: dict[str, Matrix]) -> tuple[float, float] | None:
    """The shortest and the longest embedding, if they are not of unit length; those that cannot be used are refused."""
    dim = parts[TARGETS].shape[1]
    ends: list[float] = []
    for matrix in parts.values():
        if matrix.shape[1] != dim:
            raise matrix.file.problem(
                f"has dimension {matrix.shape[1]} but targets have {dim}; give embeddings of one model."
            )
        ends += lengths(matrix)
    unit = min(ends) >= 1 - UNIT_TOLERANCE and max(ends) <= 1 + UNIT_TOLERANCE
    return None if unit else (min(ends), max(ends))
