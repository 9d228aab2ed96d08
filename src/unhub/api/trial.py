"""One trial: test scores, what is right, and the banks a method may learn from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.api.problem import Problem, from_scores, from_vectors
from unhub.api.sources import Reader, column_ids, same_rows
from unhub.banks import Bank, Banks, MaskedBank
from unhub.core.checks import overlapping_rows
from unhub.foundation.errors import InputError
from unhub.io import Rows, read_relevance
from unhub.metrics import Relevance


@dataclass(frozen=True)
class Trial:
    """Test scores (query, gallery), read in blocks; relevance; banks. Without a bank of its own: transductive."""

    scores: Bank
    relevance: Relevance
    banks: Banks
    transductive: bool
    masked: bool = False


@dataclass(frozen=True)
class TestVectors:
    """The embeddings of a trial, in one direction."""

    queries: Rows
    targets: Rows
    query_bank: Rows | None
    target_bank: Rows | None

    def reversed(self) -> TestVectors:
        """The other direction: targets ask, queries are found, and the banks change places."""
        return TestVectors(
            replace(self.targets, name="targets as queries"),
            replace(self.queries, name="queries as targets"),
            self.target_bank,
            self.query_bank,
        )


def open_vectors(
    reader: Reader, queries: Any, targets: Any, query_bank: Any, target_bank: Any, ids: tuple[Any, Any]
) -> TestVectors:
    """Embeddings of both sides and of both banks, opened and checked."""
    gallery = reader.vectors(targets, "targets", ids=ids[1])
    asked = reader.vectors(queries, "queries", ids=ids[0], like=gallery)
    bank = None if query_bank is None else reader.vectors(query_bank, "query_bank", like=gallery)
    second = None if target_bank is None else reader.vectors(target_bank, "target_bank", like=gallery)
    return TestVectors(asked, gallery, bank, second)


def vector_trial(
    reader: Reader,
    vectors: TestVectors,
    relevance: Relevance,
    *,
    allow_overlap: bool,
    ignore_self: bool,
    marginals: dict[str, Any],
) -> Trial:
    """The trial of embeddings; test scores are computed once, and are the bank when there is no other."""
    test = reader.products(vectors.queries, vectors.targets, keep=0.5)
    bank = vectors.query_bank
    if bank is not None and not allow_overlap:
        refuse_overlap(vectors.queries, bank, "query_bank")
    problem = from_vectors(reader, vectors.targets, bank or vectors.queries, vectors.target_bank, **marginals)
    if bank is not None:
        return Trial(test, relevance, problem.banks, transductive=False, masked=ignore_self)
    own = replace(problem.banks, queries=_own_bank(test, ignore_self))
    return Trial(test, relevance, own, transductive=True, masked=ignore_self)


def score_trial(
    reader: Reader,
    scores: Rows,
    relevance: Relevance,
    *,
    query_bank_scores: Any,
    cross_bank_scores: Any,
    target_bank_scores: Any,
    allow_overlap: bool,
    ignore_self: bool,
    marginals: dict[str, Any],
) -> Trial:
    """The trial of matrices: S, and S_bt, S_bb, S_tt where there are any."""
    test = reader.matrix(scores)
    bank = scores
    if query_bank_scores is not None:
        bank = reader.scores(query_bank_scores, "query_bank_scores")
        same_rows(bank, "query_bank_scores", scores, "scores", axis=(1, 1))
        if not allow_overlap:
            refuse_overlap(scores, bank, "query_bank_scores")
    problem: Problem = from_scores(reader, bank, cross_bank_scores, target_bank_scores, **marginals)
    if query_bank_scores is not None:
        return Trial(test, relevance, problem.banks, transductive=False, masked=ignore_self)
    own = replace(problem.banks, queries=_own_bank(test, ignore_self))
    return Trial(test, relevance, own, transductive=True, masked=ignore_self)


def relevance_of(relevant: Any, queries: Rows | None, targets: Rows | None, scores: Rows | None, ids: Any) -> Relevance:
    """What is right for each query, checked against the sizes of the trial."""
    if scores is not None:
        shape = scores.shape
        query_ids = column_ids(ids[0], shape[0], "scores")
        target_ids = column_ids(ids[1], shape[1], "scores")
    else:
        assert queries is not None
        assert targets is not None
        shape = queries.shape[0], targets.shape[0]
        query_ids, target_ids = queries.ids, targets.ids
    _refuse_transposed(relevant, shape, "scores" if scores is not None else "queries")
    return read_relevance(relevant, queries=shape[0], targets=shape[1], query_ids=query_ids, target_ids=target_ids)


def refuse_overlap(queries: Rows, bank: Rows, name: str) -> None:
    """Stops an evaluation whose bank holds test queries, which would make it transductive unawares."""
    shared = overlapping_rows(queries, bank)
    if shared.size:
        first = ", ".join(str(row) for row in shared[:5])
        raise InputError(
            f"{shared.size:,} of {queries.shape[0]:,} test queries are also in {name} (first rows: {first}); take "
            f"them out, or pass allow_overlap=True (--allow-overlap) if that is meant."
        )


def _own_bank(test: Bank, ignore_self: bool) -> Bank:
    return MaskedBank(test) if ignore_self else test


def _refuse_transposed(relevant: Any, shape: tuple[int, int], name: str) -> None:
    """Stops a matrix whose columns, not rows, match a flat list of answers."""
    if isinstance(relevant, str | bytes) or not hasattr(relevant, "__len__"):
        return
    flat = np.ndim(relevant) == 1 if isinstance(relevant, np.ndarray) else True
    if flat and shape[0] != shape[1] and len(relevant) == shape[1] != shape[0] and not isinstance(relevant, dict):
        what = (
            f"scores is {shape[0]:,} x {shape[1]:,}"
            if name == "scores"
            else (f"there are {shape[0]:,} queries and {shape[1]:,} targets")
        )
        fix = "pass scores.T" if name == "scores" else "swap queries and targets"
        raise InputError(
            f"{what} but relevant has {len(relevant):,} entries, one for each column; rows are queries, so this looks "
            f"transposed: {fix}, or give one entry per query."
        )
