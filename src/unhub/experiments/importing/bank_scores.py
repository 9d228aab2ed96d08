"""The matrices of a bank: its queries x test targets, its queries x its targets, its targets x test targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from unhub.experiments.importing.gathered import told
from unhub.experiments.importing.matrices import Matrix, survey, upright
from unhub.experiments.importing.reading import Opener
from unhub.experiments.importing.targets import Targets, distinct
from unhub.foundation.errors import InputError

PARTS = ("scores", "cross", "target_scores")


@dataclass(frozen=True, eq=False)
class BankScores:
    """The matrices of one bank by their place in the experiment, and the largest of its scores."""

    parts: dict[str, Matrix]
    largest: float
    said: tuple[str, ...]


def bank_scores(opener: Opener, name: str, sources: Sequence[str], targets: Targets, *, transpose: bool) -> BankScores:
    """A bank of one matrix, for methods that learn from queries, or of three, for those that have targets too."""
    if len(sources) not in (1, len(PARTS)):
        raise InputError(
            f"bank {name} has {len(sources)} matrices; give one (bank queries x test targets), or three with commas "
            f"between them: that, bank queries x bank targets, bank targets x test targets."
        )
    matrices = [
        upright(opener.array(source, f"bank {name}, {part}", dims=(2, 3)), transpose=transpose)
        for part, source in zip(PARTS, sources, strict=False)
    ]
    scores = _of_test(matrices[0], targets)
    seen = survey(scores, padded=True)
    parts = {f"banks.{name}.scores": scores.only(~seen.padding)}
    said = f"rows of -inf (padding) in bank {name}, left out: {seen.padding.sum():,}" if seen.padding.any() else None
    if len(matrices) == 1:
        return BankScores(parts, seen.largest, told(said))
    _, cross, between = matrices
    _same_items(cross, scores.shape[0], scores, "bank queries")
    cross = cross.only(~seen.padding)
    others = distinct(survey(cross).repeats, f"columns of bank {name}, cross")
    _same_items(between, cross.shape[1], cross, "bank targets")
    between = replace(_of_test(between, targets), rows=others.firsts)
    survey(between)
    parts[f"banks.{name}.cross"] = replace(cross, columns=others.firsts)
    parts[f"banks.{name}.target_scores"] = between
    return BankScores(parts, seen.largest, told(said, others.said))


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
