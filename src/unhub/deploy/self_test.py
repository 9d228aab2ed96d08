"""The self-test: the store's results for some probes, compared with exact search."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from unhub.api.correction import Correction
from unhub.foundation.types import FloatArray, IntArray
from unhub.stores import Collection, Description, Export, ExportPlan, SearchResults
from unhub.stores.adapter import unit_rows
from unhub.stores.interface import Searchable

PROBES = 200
K = 10
KEPT = 64  # exact results kept of each probe, so that a tie beyond the k-th is recognised
TOLERANCE = 2e-5  # how far two sums of float32 products may differ and still tie; times the largest score
COARSE = 4e-3  # the same where a store keeps its vectors in 16 bits
LOSS = 0.02  # an approximate index may miss twice what the raw one misses, and this much more, which may be chance
HALF = 0.5  # and it has to find at least this share of what the raw one finds, however little that is
CODED_LOSS = 0.05  # LOSS for an index of codes: its own vectors count as exact, so it seems to miss nothing
CLOSE_ENOUGH = 0.002  # recall that a corrected index may lose to the raw one before it looks at more
STEP, MOST_EFFORT = 1.1, 3.0  # how much more each time, and when to stop


@dataclass(frozen=True)
class SelfTest:
    """The result of the self-test. An exact index must give the same lists; otherwise recalls are compared."""

    probes: int
    k: int
    exact: bool
    identical: int
    """probes with the list of exact corrected search, item by item"""
    tied: int
    """probes whose list differs only among items that tie to rounding"""
    recall: float
    raw_recall: float
    score_error: float
    """the largest difference between the store's score and the exact score + bias"""
    passed: bool
    effort: float = 1.0
    """how many times as much a search of the corrected index looks at, to miss no more than the raw one"""

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON can hold it."""
        return asdict(self)

    def __str__(self) -> str:
        lists = f"{self.identical} of {self.probes} probes have the list of exact corrected search"
        ties = f", {self.tied} more but for ties" if self.tied else ""
        more = f", looking at {self.effort:.2g} times as much" if self.effort > 1 else ""
        return f"{lists}{ties}; recall@{self.k} {self.recall:.4f}{more}, the raw index has {self.raw_recall:.4f}"


class ExactTop:
    """The best items of each probe, raw and corrected, gathered block by block."""

    def __init__(self, probes: FloatArray, *, unit: bool) -> None:
        self.probes = probes
        self._unit = unit
        self._raw, self._corrected = _Best(len(probes)), _Best(len(probes))

    def look(self, ids: list[str], vectors: FloatArray, bias: FloatArray) -> None:
        """Takes a block of raw vectors (item, dim) with its bias (item,) into account."""
        block = unit_rows(vectors) if self._unit else np.asarray(vectors, dtype=np.float32)
        scores = self.probes @ block.T
        self._raw.take(ids, scores)
        self._corrected.take(ids, scores + bias)

    def compare(self, corrected: SearchResults, raw: SearchResults, described: Description, *, every: bool) -> SelfTest:
        """The self-test of the store's results, corrected and raw.

        every: whether the corrected index looks at every item, so that lists must be the same.
        """
        close = (TOLERANCE if described.dtype == "float32" else COARSE) * max(1.0, self._corrected.largest())
        same, tied = self._corrected.lists(corrected, close)
        recall, raw_recall = self._corrected.recall(corrected), self._raw.recall(raw)
        error = self._corrected.score_error(corrected)
        right = error <= close or described.coded  # codes round the bias to a few bits too, and so the scores
        loss = CODED_LOSS if described.coded else LOSS
        enough = max(1 - 2 * (1 - raw_recall) - loss, HALF * raw_recall)
        complete = same + tied == len(self.probes) if every else recall >= enough
        return SelfTest(len(self.probes), K, every, same, tied, recall, raw_recall, error, bool(complete and right))


class _Best:
    """The KEPT highest scores of each row, and their ids."""

    def __init__(self, rows: int) -> None:
        self._scores = np.empty((rows, 0), dtype=np.float32)
        self._at = np.empty((rows, 0), dtype=np.int64)
        self._ids: list[str] = []

    def take(self, ids: list[str], scores: FloatArray) -> None:
        at = np.broadcast_to(np.arange(len(self._ids), len(self._ids) + len(ids)), scores.shape)
        self._ids.extend(ids)
        every, places = np.hstack((self._scores, scores)), np.hstack((self._at, at))
        if every.shape[1] > KEPT:  # drop what cannot be among the best before sorting
            chosen = np.argpartition(-every, KEPT - 1, axis=1)[:, :KEPT]
            every, places = np.take_along_axis(every, chosen, 1), np.take_along_axis(places, chosen, 1)
        order = np.lexsort((places, -every), axis=1)
        self._scores, self._at = np.take_along_axis(every, order, 1), np.take_along_axis(places, order, 1)

    def largest(self) -> float:
        return float(np.abs(self._scores).max(initial=0.0))

    def lists(self, results: SearchResults, close: float) -> tuple[int, int]:
        """How many rows have the same list, and how many differ only where scores tie."""
        same = tied = 0
        for row in range(len(self._scores)):
            wanted = [self._ids[at] for at in self._at[row, :K].tolist()]
            ids = [str(each) for each in results.ids[row] if each is not None]
            if ids == wanted:
                same += 1
            elif self._ties(row, ids, len(wanted), close):
                tied += 1
        return same, tied

    def _ties(self, row: int, ids: list[str], count: int, close: float) -> bool:
        score = self._known(row)
        if len(ids) != count or len(set(ids)) != count or any(each not in score for each in ids):
            return False
        return all(abs(score[each] - self._scores[row, place]) <= close for place, each in enumerate(ids))

    def _known(self, row: int) -> dict[str, float]:
        """The kept ids of a row, with their scores."""
        pairs = zip(self._at[row].tolist(), self._scores[row].tolist(), strict=True)
        return {self._ids[at]: value for at, value in pairs}

    def score_error(self, results: SearchResults) -> float:
        """The largest difference to the store's scores, among the items that are kept here."""
        worst = 0.0
        for row in range(len(self._scores)):
            score = self._known(row)
            pairs = zip(results.ids[row].tolist(), results.scores[row].tolist(), strict=True)
            off = [abs(value - score.get(str(each), value)) for each, value in pairs if each is not None]
            worst = max([worst, *(each if math.isfinite(each) else math.inf for each in off)])
        return worst

    def recall(self, results: SearchResults) -> float:
        """The share of the K best that was found."""
        hit = total = 0
        for row in range(len(self._scores)):
            wanted = {self._ids[at] for at in self._at[row, :K].tolist()}
            hit += len(wanted & {str(each) for each in results.ids[row] if each is not None})
            total += len(wanted)
        return hit / max(1, total)


def choose_probes(correction: Correction, fallback: FloatArray) -> FloatArray:
    """Up to PROBES queries, spread over the bank; vectors of the gallery if the correction has no bank."""
    bank = correction.query_bank
    if bank is None:
        return unit_rows(fallback[:PROBES]) if correction.metric == "cosine" else fallback[:PROBES]
    places: IntArray = np.unique(np.linspace(0, len(bank) - 1, min(PROBES, len(bank))).astype(np.int64))
    chosen = np.concatenate([np.asarray(bank[at : at + 1], dtype=np.float32) for at in places.tolist()])
    return unit_rows(chosen) if correction.normalize and correction.metric == "cosine" else chosen


def run_self_test(
    exact: ExactTop,
    collection: Collection,
    index: Searchable,
    plan: ExportPlan,
    before: Export | None,
    fixed_effort: float | None,
) -> SelfTest:
    """The self-test; unless the effort is fixed, it is raised until the index misses no more than the raw one."""
    origin = plan.origin
    every = origin.exact and plan.strategy not in ("rerank", "payload")
    raw = collection.search(exact.probes, K)
    effort = start = 1.0 if before is None else float(before.self_test.get("effort", 1.0))

    def change_effort(to: float) -> bool:
        return not every and index.raise_effort(to / effort)

    if fixed_effort is not None and fixed_effort != effort and change_effort(fixed_effort):
        effort = fixed_effort
    while True:
        test = replace(exact.compare(index.search(exact.probes, K), raw, origin, every=every), effort=effort)
        more = effort * STEP
        if fixed_effort is not None or test.recall >= test.raw_recall - CLOSE_ENOUGH or more > MOST_EFFORT:
            break
        if not change_effort(more):
            break
        effort = more
    if effort != start:
        index.finish()
    return test
