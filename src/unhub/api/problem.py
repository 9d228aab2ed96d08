"""The bank side of a problem, from embeddings or from matrices, with what a method needs of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.api.sources import Reader, marginal, same_rows
from unhub.banks import Banks, Budget, MaskedBank
from unhub.core.arrays import is_numpy, is_tensor
from unhub.core.checks import check_dimension
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.io import Rows
from unhub.methods import Method

NEEDS = {
    "cross": (
        "a target bank: pass target_bank (--target-bank) beside embeddings, or cross_bank_scores (query bank x "
        "target bank) beside scores; without one, use sn"
    ),
    "targets": (
        "a target bank: pass target_bank (--target-bank) beside embeddings, or target_bank_scores (target bank x "
        "gallery) beside scores; without one, use is"
    ),
}


@dataclass(frozen=True)
class Problem:
    """Banks ready for a method, and the vectors behind them where there are any."""

    banks: Banks
    targets: Rows | None = None
    query_bank: Rows | None = None
    target_bank: Rows | None = None
    prior_mean: float = 1.0
    matrices: tuple[Rows, ...] = ()


def from_vectors(
    reader: Reader,
    targets: Rows,
    query_bank: Rows,
    target_bank: Any = None,
    *,
    query_weight: Any = None,
    target_prior: Any = None,
    budget: Budget | None = None,
) -> Problem:
    """The problem of embeddings: three banks of inner products, computed when they are read.

    With a budget, scores are kept for those who read them again. The two sides that dbsn reads together share one block
    height.
    """
    second = open_target_bank(reader, target_bank, targets)
    reader = reader.beside(targets, query_bank, second)
    rows = reader.rows_at_once(len(targets), 0 if second is None else len(second))
    queries = reader.products(query_bank, targets, rows=rows, budget=budget)
    cross = by_gallery = None
    if second is not None:
        cross = reader.products(query_bank, second, rows=rows, budget=budget)
        by_gallery = reader.products(second, targets, budget=budget) if len(second) else None
    weight = marginal(query_weight, "query_weight", queries.shape[0], "bank queries")
    prior, mean = relative_prior(target_prior, queries.shape[1])
    memory = reader.memory_for(queries) if budget is None else reader.budget().left
    return Problem(Banks(queries, cross, by_gallery, weight, prior, memory), targets, query_bank, second, mean)


def from_scores(
    reader: Reader,
    scores: Rows,
    cross_bank_scores: Any = None,
    target_bank_scores: Any = None,
    *,
    query_weight: Any = None,
    target_prior: Any = None,
) -> Problem:
    """The problem of matrices: S_bt, and S_bb and S_tt where there are any."""
    cross = by_gallery = None
    if cross_bank_scores is not None:
        cross = empty_bank(cross_bank_scores, axis=1)
        cross = reader.scores(cross_bank_scores, "cross_bank_scores") if cross is None else cross
        same_rows(cross, "cross_bank_scores", scores, scores.name)
    if target_bank_scores is not None:
        by_gallery = reader.scores(target_bank_scores, "target_bank_scores")
        same_rows(by_gallery, "target_bank_scores", scores, scores.name, axis=(1, 1))
    weight = marginal(query_weight, "query_weight", scores.shape[0], "bank queries")
    prior, mean = relative_prior(target_prior, scores.shape[1])
    rows = reader.rows_at_once(scores.shape[1], 0 if cross is None else cross.shape[1])
    second = None if cross is None else reader.matrix(cross, rows=rows)
    third = None if by_gallery is None else reader.matrix(by_gallery)
    given = [each for each in (scores, cross, by_gallery) if each is not None]
    queries = reader.matrix(scores, rows=rows)
    memory = reader.memory_for(queries)
    return Problem(Banks(queries, second, third, weight, prior, memory), prior_mean=mean, matrices=tuple(given))


def relative_prior(values: Any, size: int, mean: float | None = None) -> tuple[FloatArray | None, float]:
    """A prior relative to an average target of one, and the average it was divided by."""
    prior = marginal(values, "target_prior", size, "targets")
    if prior is None:
        return None, 1.0
    average = float(prior.mean()) if mean is None else mean
    return prior / average, average


def open_target_bank(reader: Reader, source: Any, targets: Rows) -> Rows | None:
    """The target bank, opened and checked."""
    if source is None:
        return None
    nothing = empty_bank(source, axis=0)
    if nothing is None:
        return reader.vectors(source, "target_bank", like=targets)
    check_dimension(nothing, "target_bank", targets, targets.name)
    return nothing


def empty_bank(source: Any, *, axis: int) -> Rows | None:
    """An array without items along an axis: an empty target bank, with which dbsn is sn. None for anything else."""
    shape = tuple(getattr(source, "shape", ()))
    if (is_numpy(source) or is_tensor(source)) and len(shape) == 2 and shape[axis] == 0:
        return Rows(np.empty(shape, dtype=np.float32), name="target_bank")
    return None


def without_self(banks: Banks, *, same: bool) -> Banks:
    """The banks of a gallery that is its own bank, every item silent about itself; same: whether it is."""
    rows, columns = banks.queries.shape
    if not same and rows == columns:
        raise InputError("ignore_self needs the gallery as its own bank, but query_bank holds other vectors.")
    if columns < 2:
        raise InputError("ignore_self leaves nothing of a gallery of one; give at least two targets.")
    if rows != columns:
        raise InputError(
            f"ignore_self needs the gallery as its own bank, but {rows:,} bank rows meet {columns:,} targets."
        )
    return replace(banks, queries=MaskedBank(banks.queries))


def missing(method: Method, banks: Banks) -> str | None:
    """Why the method cannot run on these banks, as a sentence, or None."""
    for need in sorted(method.needs):
        if getattr(banks, need) is None:
            return f"{method.name} needs {NEEDS[need]}."
    for name in ("query_weight", "target_prior"):
        if getattr(banks, name) is not None and name not in method.weighs:
            return f"{name} means nothing to {method.name}; leave it out, or use is, dualis, sn or dbsn."
    return None


def check_needs(method: Method, banks: Banks) -> None:
    """Refuses a method whose banks are not all there, or that has no use for the weights it was given."""
    lacking = missing(method, banks)
    if lacking is not None:
        raise InputError(lacking)


def extended_banks(
    reader: Reader, new_targets: Rows, query_bank: Rows, target_bank: Rows | None, query_weight: Any
) -> Banks:
    """The same bank rows before unseen targets."""
    reader = reader.beside(new_targets, query_bank, target_bank)
    queries = reader.products(query_bank, new_targets)
    by_gallery = None if target_bank is None else reader.products(target_bank, new_targets)
    return Banks(queries, None, by_gallery, query_weight)
