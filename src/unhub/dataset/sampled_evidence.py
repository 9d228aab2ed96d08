"""Recent and judged queries of a sample whose gallery is drawn: few enough to be asked, of the targets that stay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from unhub.dataset.evidence import FRESH, judged_relevance
from unhub.dataset.galleries import some_rows, take
from unhub.foundation.types import IntArray
from unhub.io import Rows
from unhub.metrics import Relevance

if TYPE_CHECKING:
    from unhub.dataset.dataset import Dataset

MOST_SCORES = 100_000_000
"""scores of recent or of judged queries that a sample may ask for: 1,000 queries with 100,000 targets"""
BLOCK = 200
"""rows of a matrix that are read at once"""


@dataclass(frozen=True, eq=False)
class EvidenceSample:
    """Rows that stay of the recent and the judged queries. relevance: which targets are right; named: of which part."""

    rows: dict[str, IntArray] = field(default_factory=dict)
    relevance: Relevance | None = None
    named: str = ""

    @property
    def right(self) -> IntArray:
        """Targets that are right for a judged query that stays."""
        if self.relevance is None:
            return np.empty(0, dtype=np.int64)
        return self.relevance.targets[np.isin(self.relevance.query_rows, self.rows[self.named])]


def draw_evidence(data: Dataset, most_targets: int, rng: np.random.Generator) -> EvidenceSample:
    """At most so many queries of each kind that their scores can be asked for, judged ones first."""
    most = max(BLOCK, MOST_SCORES // most_targets)
    parts = {part: data.rows(part) for part in FRESH if data.source(part) is not None}
    named = "judged_queries" if "judged_queries" in parts else "recent"
    asked = parts.get(named)
    relevance = None
    if data.source("judged") is not None and asked is not None:
        relevance = judged_relevance(data, asked, data.shape[1])
    rows: dict[str, IntArray] = {}
    for part, each in parts.items():
        assert each is not None
        order = rng.permutation(len(each))
        if relevance is not None and part == named:
            order = order[np.argsort(~relevance.judged()[order], kind="stable")]
        rows[part] = np.sort(order[:most])
    return EvidenceSample(rows, relevance, named)


def keep_evidence(data: Dataset, sample: Dataset, drawn: EvidenceSample, targets: IntArray) -> None:
    """Gives a sample its recent and judged queries, with the targets that stay."""
    for part, rows in drawn.rows.items():
        whole = data.rows(part)
        assert whole is not None
        sample._sources[part] = sample._opened[part,] = (
            some_rows(whole, rows) if data.kind == "vectors" else _columns(whole, rows, targets)
        )
    if drawn.relevance is not None:
        sample._sources["judged"] = subset(drawn.relevance, drawn.rows[drawn.named], targets)


def subset(whole: Relevance, queries: IntArray, targets: IntArray) -> Relevance:
    """What is right among some of the queries and some of the targets."""
    if len(queries) == whole.queries and len(targets) == whole.gallery:
        return whole
    place_of_query, place_of_target = (np.full(size, -1) for size in (whole.queries, whole.gallery))
    place_of_query[queries], place_of_target[targets] = np.arange(len(queries)), np.arange(len(targets))
    rows, columns = place_of_query[whole.query_rows], place_of_target[whole.targets]
    stays = (rows >= 0) & (columns >= 0)
    return Relevance.from_pairs(
        rows[stays],
        columns[stays],
        queries=len(queries),
        gallery=len(targets),
        gains=whole.gains[stays],
        allow_empty=True,
    )


def _columns(whole: Rows, rows: IntArray, targets: IntArray) -> Rows:
    blocks = [take(whole, rows[start : start + BLOCK])[:, targets] for start in range(0, len(rows), BLOCK)]
    ids = None if whole.ids is None else tuple(whole.ids[row] for row in rows.tolist())
    return replace(whole, data=np.concatenate(blocks), ids=ids, stamp=None)
