"""One trial: test scores, what is right, and the banks a method may learn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from unhub.api.problem import from_scores, from_vectors
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
class Terms:
    """What a trial allows and what it weighs."""

    allow_overlap: bool = False
    ignore_self: bool = False
    query_weight: Any = None
    target_prior: Any = None

    def marginals(self, reverse: bool) -> dict[str, Any]:
        """Weights of the bank and prior of the gallery; they belong to one direction."""
        given = {"query_weight": self.query_weight, "target_prior": self.target_prior}
        if reverse and any(value is not None for value in given.values()):
            raise InputError("query_weight and target_prior belong to the forward direction; evaluate one at a time.")
        return given

    def trial(self, test: Bank, relevance: Relevance, banks: Banks, *, own_bank: bool) -> Trial:
        """The trial; where the test queries are the bank, a query does not speak for itself if so agreed."""
        if own_bank:
            banks = replace(banks, queries=MaskedBank(test) if self.ignore_self else test)
        return Trial(test, relevance, banks, transductive=own_bank, masked=self.ignore_self)


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
        if bank is not None and not self.terms.allow_overlap:
            refuse_overlap(queries, bank, bank.name)
        marginals = self.terms.marginals(reverse)
        problem = from_vectors(self.reader, targets, queries if bank is None else bank, second, **marginals)
        test = self.reader.products(queries, targets, keep=0.5)
        relevance = self.relevance.reverse() if reverse else self.relevance
        return self.terms.trial(test, relevance, problem.banks, own_bank=bank is None)


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
        bank = scores
        if given is not None:
            bank = self.reader.scores(given, "query_bank_scores")
            same_rows(bank, "query_bank_scores", scores, "scores", axis=(1, 1))
            if not self.terms.allow_overlap:
                refuse_overlap(scores, bank, "query_bank_scores")
        problem = from_scores(
            self.reader, bank, self.banks["cross_bank_scores"], self.banks["target_bank_scores"], **marginals
        )
        return self.terms.trial(self.reader.matrix(scores), relevance, problem.banks, own_bank=given is None)


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
    given = [name for name, value in vectors.items() if value is not None]
    if matrices["scores"] is not None:
        if given:
            raise InputError(f"scores and {given[0]} came together; give scores, or queries and targets, not both.")
        scores = reader.scores(matrices["scores"], "scores")
        names = [column_ids(each, size, "scores") for each, size in zip(ids, scores.shape, strict=True)]
        relevance = _relevance(relevant, scores.shape, names)
        banks = {name: value for name, value in matrices.items() if name != "scores"}
        return ScoreSide(reader, scores, banks, relevance, terms)
    for name in ("queries", "targets"):
        if vectors[name] is None:
            raise InputError(f"{name} is missing; give queries and targets, or a matrix of scores.")
    targets = reader.vectors(vectors["targets"], "targets", ids=ids[1])
    queries = reader.vectors(vectors["queries"], "queries", ids=ids[0], like=targets)
    opened: dict[str, Rows | None] = {"queries": queries, "targets": targets}
    for name in ("query_bank", "target_bank"):
        opened[name] = None if vectors[name] is None else reader.vectors(vectors[name], name, like=targets)
    shape = queries.shape[0], targets.shape[0]
    return VectorSide(reader, opened, _relevance(relevant, shape, [queries.ids, targets.ids]), terms)


def refuse_overlap(queries: Rows, bank: Rows, name: str) -> None:
    """Stops an evaluation whose bank holds test queries, which would make it transductive unawares."""
    shared = overlapping_rows(queries, bank)
    if shared.size:
        first = ", ".join(str(row) for row in shared[:5])
        raise InputError(
            f"{shared.size:,} of {queries.shape[0]:,} test queries are also in {name} (first rows: {first}); take "
            f"them out, or pass allow_overlap=True (--allow-overlap) if that is meant."
        )


def _relevance(relevant: Any, shape: tuple[int, int], ids: list[Any]) -> Relevance:
    return read_relevance(relevant, queries=shape[0], targets=shape[1], query_ids=ids[0], target_ids=ids[1])
