"""One trial: test scores, what is right, and the banks a method may learn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from unhub.api.problem import from_scores, from_vectors, open_target_bank
from unhub.api.sources import Reader, column_ids, refuse_mixture, same_rows
from unhub.banks import Bank, Banks, MaskedBank
from unhub.core.fingerprint import shared_rows
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
    shared: int = 0
    """test queries that are also in the bank"""


@dataclass(frozen=True)
class Terms:
    """What a trial allows and what it weighs."""

    allow_overlap: bool = False
    ignore_self: bool = False
    allow_empty: bool = False
    query_weight: Any = None
    target_prior: Any = None

    def marginals(self, reverse: bool) -> dict[str, Any]:
        """Weights of the bank and prior of the gallery; they belong to one direction."""
        given = {"query_weight": self.query_weight, "target_prior": self.target_prior}
        if reverse and any(value is not None for value in given.values()):
            raise InputError("query_weight and target_prior belong to the forward direction; evaluate one at a time.")
        return given

    def trial(self, test: Bank, relevance: Relevance, banks: Banks, *, own_bank: bool, shared: int = 0) -> Trial:
        """The trial; where the test queries are the bank, a query does not speak for itself if so agreed."""
        if self.ignore_self and test.shape[1] < 2:
            raise InputError("ignore_self leaves nothing of a gallery of one; give at least two targets.")
        if own_bank:
            banks = replace(banks, queries=MaskedBank(test) if self.ignore_self else test)
        return Trial(test, relevance, banks, own_bank or shared > 0, self.ignore_self, shared)

    def shared(self, queries: Rows, bank: Rows, *, unit: bool) -> int:
        """How many test queries are in the bank; an error unless that was allowed."""
        rows = shared_rows(queries, bank, unit=unit)
        if rows.size and not self.allow_overlap:
            first = ", ".join(str(row) for row in rows[:5])
            raise InputError(
                f"{rows.size:,} of {queries.shape[0]:,} test queries are also in {bank.name} (first rows: {first}); "
                f"take them out, or pass allow_overlap=True (--allow-overlap) if that is meant."
            )
        return int(rows.size)


class Side(Protocol):
    """Opened input that can be tried in either direction."""

    def trial(self, *, reverse: bool) -> Trial:
        """The trial of one direction."""


@dataclass(frozen=True)
class VectorSide:
    """Embeddings of both sides and of both banks."""

    reader: Reader
    vectors: Mapping[str, Rows | None]
    relevance: Relevance
    terms: Terms

    def trial(self, *, reverse: bool) -> Trial:
        """Test scores are computed once; in reverse, targets ask and the banks change places."""
        names = ("targets", "queries", "target_bank", "query_bank")
        straight = ("queries", "targets", "query_bank", "target_bank")
        queries, targets, bank, second = (self.vectors[name] for name in (names if reverse else straight))
        assert queries is not None
        assert targets is not None
        shared = 0 if bank is None else self.terms.shared(queries, bank, unit=self.reader.scaled)
        marginals = self.terms.marginals(reverse)
        reader = self.reader.beside(queries, targets, bank, second)
        kept = reader.budget()
        rows = reader.rows_at_once(len(targets), 0 if second is None else len(second))
        test = reader.products(queries, targets, rows=rows, budget=kept)
        asked = queries if bank is None else bank
        problem = from_vectors(reader, targets, asked, second, **marginals, budget=kept)
        relevance = self.relevance.reverse() if reverse else self.relevance
        return self.terms.trial(test, relevance, problem.banks, own_bank=bank is None, shared=shared)


@dataclass(frozen=True)
class ScoreSide:
    """Matrices: S, and S_bt, S_bb, S_tt where there are any."""

    reader: Reader
    scores: Rows
    banks: Mapping[str, Any]
    relevance: Relevance
    terms: Terms

    def trial(self, *, reverse: bool) -> Trial:
        """The matrix as it is, or turned; bank matrices hold one direction only."""
        if reverse:
            if any(part is not None for part in self.banks.values()):
                raise InputError(
                    "the reverse direction with a bank needs embeddings (queries, targets, query_bank, target_bank); "
                    "bank matrices hold one direction only."
                )
            turned = Rows(np.asarray(self.scores[0 : self.scores.shape[0]]).T, name="scores")
            return self._trial(turned, self.relevance.reverse(), self.terms.marginals(reverse))
        return self._trial(self.scores, self.relevance, self.terms.marginals(reverse))

    def _trial(self, scores: Rows, relevance: Relevance, marginals: dict[str, Any]) -> Trial:
        given = self.banks["query_bank_scores"]
        bank, shared = scores, 0
        if given is not None:
            bank = self.reader.scores(given, "query_bank_scores")
            same_rows(bank, "query_bank_scores", scores, "scores", axis=(1, 1))
            shared = self.terms.shared(scores, bank, unit=False)
        problem = from_scores(
            self.reader, bank, self.banks["cross_bank_scores"], self.banks["target_bank_scores"], **marginals
        )
        rows = problem.banks.queries.block_rows
        test = self.reader.matrix(scores, rows=rows)
        return self.terms.trial(test, relevance, problem.banks, own_bank=given is None, shared=shared)


def open_side(
    reader: Reader,
    *,
    vectors: Mapping[str, Any],
    matrices: Mapping[str, Any],
    relevant: Any,
    ids: tuple[Any, Any],
    terms: Terms,
) -> Side:
    """Embeddings or matrices, whichever were given, opened and checked; not a mixture of both."""
    refuse_mixture(vectors, matrices)
    if matrices["scores"] is not None:
        scores = reader.scores(matrices["scores"], "scores")
        names = [column_ids(each, size, "scores") for each, size in zip(ids, scores.shape, strict=True)]
        relevance = _relevance(relevant, scores.shape, names, terms.allow_empty)
        banks = {name: value for name, value in matrices.items() if name != "scores"}
        return ScoreSide(reader, scores, banks, relevance, terms)
    for name in ("queries", "targets"):
        if vectors[name] is None:
            raise InputError(f"{name} is missing; give queries and targets, or a matrix of scores.")
    targets = reader.vectors(vectors["targets"], "targets", ids=ids[1])
    queries = reader.vectors(vectors["queries"], "queries", ids=ids[0], like=targets)
    bank = None if vectors["query_bank"] is None else reader.vectors(vectors["query_bank"], "query_bank", like=targets)
    second = open_target_bank(reader, vectors["target_bank"], targets)
    opened = {"queries": queries, "targets": targets, "query_bank": bank, "target_bank": second}
    shape = queries.shape[0], targets.shape[0]
    return VectorSide(reader, opened, _relevance(relevant, shape, [queries.ids, targets.ids], terms.allow_empty), terms)


def _relevance(relevant: Any, shape: tuple[int, int], ids: list[Any], allow_empty: bool) -> Relevance:
    sizes = {"queries": shape[0], "targets": shape[1]}
    return read_relevance(relevant, **sizes, query_ids=ids[0], target_ids=ids[1], allow_empty=allow_empty)
