"""Queries that a correction is judged by: recent ones, and judged ones, none of them test queries or bank queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.core.near_copies import shared_rows
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.foundation.wording import argument
from unhub.io import Rows, read_relevance
from unhub.metrics import Relevance
from unhub.scores import ScoreSource, select

if TYPE_CHECKING:
    from unhub.dataset.dataset import Dataset
    from unhub.dataset.reader import Reader

FEWEST_RECENT, WANTED_RECENT = 50, 200
"""recent queries without which nothing can be said, and from which the verdict hardly changes"""
FEWEST_JUDGED, WANTED_JUDGED = 20, 50
"""judged queries, likewise"""
MOST_IN_BANK = 0.5
"""share of judged queries in the bank from which they are the log's own clicks, not judgements"""
CLICKS = (
    "raw clicks are not judgements: people click what was shown first, so that clicks only repeat the ranking as it "
    "is. Judge about 50 other queries by hand"
)


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """Queries whose right targets are known. scores: query x gallery. relevance: of the same queries."""

    scores: ScoreSource
    relevance: Relevance

    def means(self, g: FloatArray) -> FloatArray:
        """The mean of g over the right targets of each query: (query,)."""
        counts = self.relevance.counts
        sums = np.zeros(len(counts))
        np.add.at(sums, self.relevance.query_rows, g[self.relevance.targets])
        means: FloatArray = sums / counts
        return means


@dataclass(frozen=True, eq=False)
class FreshQueries:
    """What a correction is judged by besides its own bank; None where there is none."""

    recent: ScoreSource | None = None
    judged: JudgedQueries | None = None


NONE = FreshQueries()


def fresh_queries(data: Dataset, reader: Reader, gallery: int, bank: Rows | None) -> FreshQueries:
    """The recent and the judged queries of a dataset, opened and checked; gallery: how many targets there are."""
    recent, own = _rows(data, "recent"), _rows(data, "judged_queries")
    if recent is not None and len(recent) < FEWEST_RECENT:
        raise InputError(
            "recent",
            f"has {len(recent):,} queries, and fewer than {FEWEST_RECENT} say nothing",
            f"give about {WANTED_RECENT}, or leave it out",
        )
    test = None
    if recent is not None or own is not None:
        test = data.rows("scores" if data.kind == "scores" else "queries")
        for rows in (recent, own):
            _refuse_test_queries(rows, test, unit=reader.scaled, allowed=data.allow_overlap)
    if data.source("judged") is None:
        judged = None
        if own is not None:
            raise InputError("judged_queries", "came without their right targets", f"give {argument('judged')} too")
    else:
        judged = _judged(data, reader, gallery, bank, recent if own is None else own)
    scores = None if recent is None else _scores(data, reader, recent, gallery)
    if recent is not None and scores is not None and test is not None and data.allow_overlap:
        scores = select(scores, _rows_but(shared_rows(recent, test, unit=reader.scaled), len(recent)))
    return FreshQueries(scores, judged)


def _rows(data: Dataset, part: str) -> Rows | None:
    return data.rows(part) if data.source(part) is not None else None


def _scores(data: Dataset, reader: Reader, rows: Rows, gallery: int) -> ScoreSource:
    if data.kind == "scores":
        if rows.shape[1] != gallery:
            came = f"has {rows.shape[1]:,} columns, but there are {gallery:,} targets"
            raise InputError(rows.name, came, "give the scores of these queries with the gallery")
        return reader.matrix(rows)
    targets = data.rows("targets")
    assert targets is not None
    return reader.products(rows, targets)


def _judged(data: Dataset, reader: Reader, gallery: int, bank: Rows | None, asked: Rows | None) -> JudgedQueries:
    if asked is None:
        missing = f"give {argument('recent')}, whose rows it names, or {argument('judged_queries')}"
        raise InputError("judged", "says which targets are right, but not for which queries", missing)
    names: Any = {"query_ids": asked.ids, "target_ids": data.target_ids(), "name": "judged"}
    sizes: Any = {"queries": len(asked), "targets": gallery, "allow_empty": True, "partial": True}
    whole = read_relevance(data.source("judged"), **sizes, **names)
    rows = np.flatnonzero(whole.judged())
    if bank is not None and rows.size:
        known = shared_rows(asked, bank, unit=reader.scaled and data.kind == "vectors")
        repeated = np.isin(rows, known)
        if repeated.mean() >= MOST_IN_BANK:
            raise InputError(
                "judged", f"holds {int(repeated.sum()):,} queries of the bank, as a log's clicks do", CLICKS
            )
        rows = rows[~repeated]
    if len(rows) < FEWEST_JUDGED:
        raise InputError(
            "judged",
            f"has {len(rows):,} judged queries that are not in the bank, and fewer than {FEWEST_JUDGED} say nothing",
            f"judge about {WANTED_JUDGED}, or leave it out",
        )
    return JudgedQueries(select(_scores(data, reader, asked, gallery), rows), whole.rows(rows))


def _rows_but(left_out: IntArray, size: int) -> IntArray:
    return np.setdiff1d(np.arange(size), left_out)


def _refuse_test_queries(rows: Rows | None, test: Rows | None, *, unit: bool, allowed: bool) -> None:
    """An error if test queries are among these, unless that is allowed: then they are left out of the recent ones."""
    if rows is None or test is None or allowed:
        return
    shared: IntArray = shared_rows(test, rows, unit=unit)
    if shared.size:
        raise InputError(
            rows.name,
            f"holds {shared.size:,} of the {len(test):,} test queries",
            "take them out: what chooses the strength cannot also measure it",
        )
