"""A task: what a method runs on. Test scores, what is right, and the banks it may learn from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from unhub.core.fingerprint import shared_rows
from unhub.dataset.reader import Reader, same_rows
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import argument, setting
from unhub.io import Rows
from unhub.methods import Method
from unhub.metrics import Relevance
from unhub.scores import Banks, Budget, MaskedScores, ScoreSource

NEEDS = {
    "cross": (
        f"pass {argument('target_bank')} beside embeddings, or {argument('cross_bank_scores')} (query bank x target "
        "bank) beside scores; without one, use sn"
    ),
    "targets": (
        f"pass {argument('target_bank')} beside embeddings, or {argument('target_bank_scores')} (target bank x "
        "gallery) beside scores; without one, use is"
    ),
}


@dataclass(frozen=True, eq=False)
class Task:
    """What a method runs on: one direction of a dataset with one bank.

    scores: test queries x gallery, read in blocks; None for a fit, which needs no test queries. banks: what methods
    read. transductive: whether test queries are in the bank; shared: how many, where the bank is another one. masked:
    whether query i is target i and does not count for itself. queries, targets, query_bank, target_bank: the vectors
    behind it, where there are any; matrices: the matrices otherwise. prior_mean: what target_prior was divided by.
    """

    direction: str
    bank: str | None
    banks: Banks
    scores: ScoreSource | None = None
    relevance: Relevance | None = None
    transductive: bool = False
    masked: bool = False
    shared: int = 0
    queries: Rows | None = None
    targets: Rows | None = None
    query_bank: Rows | None = None
    target_bank: Rows | None = None
    matrices: tuple[Rows, ...] = ()
    prior_mean: float = 1.0


def vector_banks(
    reader: Reader,
    targets: Rows,
    query_bank: Rows,
    target_bank: Rows | None = None,
    *,
    weight: FloatArray | None = None,
    prior: FloatArray | None = None,
    budget: Budget | None = None,
    queries: ScoreSource | None = None,
) -> Banks:
    """The banks of embeddings: inner products, computed when they are read.

    With a budget, scores are kept for those who read them again. The two sides that dbsn reads together share one block
    height. queries: query bank x gallery, where that is there already.
    """
    reader = reader.beside(targets, query_bank, target_bank)
    rows = reader.rows_at_once(len(targets), 0 if target_bank is None else len(target_bank))
    source = reader.products(query_bank, targets, rows=rows, budget=budget) if queries is None else queries
    cross = by_gallery = None
    if target_bank is not None:
        cross = reader.products(query_bank, target_bank, rows=rows, budget=budget)
        by_gallery = reader.products(target_bank, targets, budget=budget) if len(target_bank) else None
    execution = reader.execution(source)
    if budget is not None:
        execution = replace(execution, memory=reader.budget().left)
    return Banks(source, cross, by_gallery, weight, prior, execution)


def score_banks(
    reader: Reader,
    scores: Rows,
    cross: Rows | None = None,
    by_target: Rows | None = None,
    *,
    weight: FloatArray | None = None,
    prior: FloatArray | None = None,
) -> Banks:
    """The banks of matrices: bank x gallery, bank x target bank, target bank x gallery."""
    if cross is not None:
        same_rows(cross, "cross_bank_scores", scores, scores.name)
    if by_target is not None:
        same_rows(by_target, "target_bank_scores", scores, scores.name, axis=(1, 1))
    rows = reader.rows_at_once(scores.shape[1], 0 if cross is None else cross.shape[1])
    source = reader.matrix(scores, rows=rows)
    second = None if cross is None else reader.matrix(cross, rows=rows)
    third = None if by_target is None else reader.matrix(by_target)
    return Banks(source, second, third, weight, prior, reader.execution(source))


def extended_banks(
    reader: Reader, new_targets: Rows, query_bank: Rows, target_bank: Rows | None, query_weight: Any
) -> Banks:
    """The same bank rows before unseen targets."""
    reader = reader.beside(new_targets, query_bank, target_bank)
    queries = reader.products(query_bank, new_targets)
    by_gallery = None if target_bank is None else reader.products(target_bank, new_targets)
    return Banks(queries, None, by_gallery, query_weight, execution=reader.execution(queries))


def without_self(banks: Banks, *, same: bool) -> Banks:
    """The banks of a gallery that is its own bank, the diagonal masked; same: whether it is."""
    rows, columns = banks.queries.shape
    if not same and rows == columns:
        raise InputError(
            "ignore_self",
            f"needs the gallery as its own bank, but {argument('query_bank')} holds other vectors",
            "leave it out",
        )
    refuse_gallery_of_one(columns)
    if rows != columns:
        raise InputError(
            "ignore_self",
            f"needs the gallery as its own bank, but {rows:,} bank rows meet {columns:,} targets",
            "leave it out",
        )
    return replace(banks, queries=MaskedScores(banks.queries))


def refuse_gallery_of_one(columns: int) -> None:
    """Stops a task that would leave a target out of a gallery that has no other."""
    if columns < 2:
        raise InputError("ignore_self", "leaves nothing of a gallery of one", "give at least two targets")


def count_shared(queries: Rows, bank: Rows, *, unit: bool, allowed: bool) -> int:
    """How many test queries are in the bank; an error unless that is allowed."""
    rows = shared_rows(queries, bank, unit=unit)
    if rows.size and not allowed:
        first = ", ".join(str(row) for row in rows[:5])
        raise InputError(
            f"{rows.size:,} of {queries.shape[0]:,} test queries are also in {argument(bank.name)} (first rows: "
            f"{first}); take them out, or allow it with {setting('allow_overlap', True)}."
        )
    return int(rows.size)


def missing(method: Method, banks: Banks) -> str | None:
    """Why the method cannot run on these banks, as a sentence, or None."""
    for need in sorted(method.requires):
        if getattr(banks, need) is None:
            return f"{method.name} needs a target bank: {NEEDS[need]}."
    for name in ("query_weight", "target_prior"):
        if getattr(banks, name) is not None and name not in method.marginals:
            return f"{argument(name)} means nothing to {method.name}; leave it out, or use is, dualis, sn or dbsn."
    return None


def check_needs(method: Method, banks: Banks) -> None:
    """Refuses a method whose banks are not all there, or that has no use for the weights it was given."""
    lacking = missing(method, banks)
    if lacking is not None:
        raise InputError(lacking)
