"""Queries that a correction is judged by: recent ones, and judged ones, none of them test queries or bank queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.core.arrays import host
from unhub.core.near_copies import first_copies, shared_rows
from unhub.dataset.galleries import chosen_rows
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.foundation.wording import argument, counted
from unhub.io import Rows, read_relevance
from unhub.metrics import Relevance
from unhub.scores import ScoreSource, select

if TYPE_CHECKING:
    from unhub.dataset.dataset import Dataset
    from unhub.dataset.reader import Reader

FRESH = ("recent", "judged_queries")
"""queries that a correction is judged by"""
FEWEST_RECENT, WANTED_RECENT = 50, 200
"""recent queries without which nothing can be said, and from which the verdict hardly changes"""
FEWEST_JUDGED, WANTED_JUDGED = 20, 50
"""judged queries, likewise"""
MOST_IN_BANK = 0.5
"""share of judged queries in the bank from which they are the log's own clicks, not judgements"""
MOST_TARGETS = 0.5
"""share of recent queries that are targets from which they are the gallery, not queries"""
MOST_READ = 1 << 15
"""recent queries that are looked at, evenly spaced, where there are more; a sixteenth of them is used"""
REPEATED = "{:,} of {:,} recent queries were left out: they are in the bank, or repeat another recent query."
UNLIKELY = 0.4
"""share of the gallery above a right target, in the median, from which the rows are probably the wrong ones: chance has
a half, and the worst of 57 real sets .34 (emoji by names in a language that the encoder does not know)"""
WRONG_ROWS = "The targets of {} are at rank {:,.0f} of {:,} in the median, near chance: are these the right rows?"
JUDGE = f"say for about {WANTED_JUDGED} queries which target is right"
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
    """What a correction is judged by besides its own bank; None where there is none. notes: what was left out."""

    recent: ScoreSource | None = None
    judged: JudgedQueries | None = None
    notes: tuple[str, ...] = ()


NONE = FreshQueries()


def fresh_queries(
    data: Dataset, reader: Reader, gallery: int, bank: Rows | None, *, tested: bool = True
) -> FreshQueries:
    """The recent and the judged queries of a dataset, opened and checked.

    gallery: how many targets there are. tested: False where the scores of the dataset are its bank, not test queries.
    """
    recent, own = _rows(data, "recent"), _rows(data, "judged_queries")
    if own is not None and data.source("judged") is None:
        raise InputError("judged_queries", "came without their right targets", f"give {argument('judged')} too")
    unit = reader.scaled and data.kind != "scores"
    test = None
    if tested and (recent is not None or own is not None):
        test = data.rows("scores" if data.kind == "scores" else "queries")
        for rows in (recent, own):
            _refuse_test_queries(rows, test, unit=unit, allowed=data.allow_overlap)
    judged = None
    if data.source("judged") is not None:
        judged = _judged(data, reader, gallery, bank, recent if own is None else own, unit=unit)
    unlikely = () if judged is None else _unlikely_answers(judged)
    if recent is None:
        return FreshQueries(None, judged, unlikely)
    scores = _scores(data, reader, recent, gallery)
    _refuse_targets(recent, None if data.kind == "scores" else data.rows("targets"), unit=unit)
    asked = np.linspace(0, len(recent) - 1, min(len(recent), MOST_READ)).astype(np.int64)
    fresh = _fresh_rows(recent, bank, asked, unit=unit)
    left_out = len(asked) - len(fresh)
    if test is not None and data.allow_overlap:
        fresh = np.setdiff1d(fresh, shared_rows(recent, test, unit=unit))
    if len(fresh) < FEWEST_RECENT:
        came = counted(len(fresh), "query") if len(fresh) == len(recent) else _different(len(fresh))
        raise InputError(
            "recent", f"has {came}, and fewer than {FEWEST_RECENT} say nothing", f"give about {WANTED_RECENT}"
        )
    notes = (REPEATED.format(left_out, len(asked)),) if left_out else ()
    return FreshQueries(scores if len(fresh) == len(recent) else select(scores, fresh), judged, (*unlikely, *notes))


def _unlikely_answers(judged: JudgedQueries) -> tuple[str, ...]:
    """A sentence where the best right targets of judged queries rank as if they were drawn at random."""
    ranks = []
    rows, gallery = judged.scores.shape
    best = np.full(rows, -np.inf)
    for first in range(0, rows, judged.scores.block_rows):
        block = host(judged.scores.read(first, min(rows, first + judged.scores.block_rows)))
        of = (judged.relevance.query_rows >= first) & (judged.relevance.query_rows < first + len(block))
        asked = judged.relevance.query_rows[of]
        np.maximum.at(best, asked, block[asked - first, judged.relevance.targets[of]])
        ranks.append((block > best[first : first + len(block), None]).sum(axis=1))
    median = 1 + float(np.median(np.concatenate(ranks)))
    if gallery < FEWEST_RECENT or median <= UNLIKELY * gallery:
        return ()
    return (WRONG_ROWS.format(argument("judged"), median, gallery),)


def judged_relevance(data: Dataset, asked: Rows, gallery: int) -> Relevance:
    """Which targets are right for which of these queries, where anybody has judged."""
    names: Any = {"query_ids": asked.ids, "target_ids": data.target_ids(), "name": "judged"}
    sizes: Any = {"queries": len(asked), "targets": gallery, "allow_empty": True, "partial": True}
    return read_relevance(data.source("judged"), **sizes, **names)


def _fresh_rows(asked: Rows, bank: Rows | None, among: IntArray, *, unit: bool) -> IntArray:
    """Each different query once, without those that are in the bank: what was learned from it cannot judge it."""
    some = asked if len(among) == len(asked) else chosen_rows(asked, among)
    fresh: IntArray = np.unique(first_copies(some, unit=unit))
    return among[fresh if bank is None else np.setdiff1d(fresh, shared_rows(some, bank, unit=unit))]


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


def _judged(
    data: Dataset, reader: Reader, gallery: int, bank: Rows | None, asked: Rows | None, *, unit: bool
) -> JudgedQueries:
    if asked is None:
        missing = f"give {argument('recent')}, whose rows it names, or {argument('judged_queries')}"
        raise InputError("judged", "says which targets are right, but not for which queries", missing)
    whole = judged_relevance(data, asked, gallery)
    rows: IntArray = np.flatnonzero(whole.judged())
    scores = _scores(data, reader, asked, gallery)
    if bank is not None and rows.size:
        repeated = len(shared_rows(chosen_rows(asked, rows), bank, unit=unit))
        if repeated >= MOST_IN_BANK * rows.size:
            raise InputError("judged", f"holds {repeated:,} queries of the bank, as a log's clicks do", CLICKS)
    rows = _fresh_rows(asked, bank, rows, unit=unit)
    if len(rows) >= FEWEST_JUDGED and len(np.unique(whole.rows(rows).targets)) == 1:
        raise InputError("judged", "names one target for every query, as if it had not been filled in", JUDGE)
    if len(rows) < FEWEST_JUDGED:
        raise InputError(
            "judged",
            f"has {len(rows):,} different judged queries that are not in the bank, and fewer than {FEWEST_JUDGED} say "
            f"nothing",
            f"judge about {WANTED_JUDGED}",
        )
    return JudgedQueries(select(scores, rows), whole.rows(rows))


def _different(number: int) -> str:
    return f"{counted(number, 'different query')} that {'is' if number == 1 else 'are'} not in the bank"


def _refuse_targets(recent: Rows, targets: Rows | None, *, unit: bool) -> None:
    """An error if the recent queries are the gallery: a target is its own best answer, with or without a bias."""
    count = 0 if targets is None else len(shared_rows(recent, targets, unit=unit))
    if count >= max(1, MOST_TARGETS * len(recent)):
        came = f"is the gallery itself: {count:,} of {len(recent):,} vectors are targets, up to rounding"
        raise InputError("recent", came, "give queries that people ask now")


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
