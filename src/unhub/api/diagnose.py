"""``diagnose``: how uneven retrieval is with no correction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.api import notebook
from unhub.api.facade import dataset_of, facade
from unhub.core.topk import top_k
from unhub.dataset import Dataset
from unhub.foundation import tables
from unhub.foundation.errors import InputError
from unhub.foundation.types import IntArray, Progress, Similarity
from unhub.foundation.wording import counted
from unhub.metrics import HUBNESS_METRICS, Ranking, k_occurrence, summarise
from unhub.scores import Banks, ScoreSource, blocks, spread, with_progress
from unhub.scores.views import mask_self

SCHEMA_VERSION = 1
DEPTH = 10
MILD, STRONG = 1.0, 3.0
"""skew@10 from which retrieval counts as uneven, and as very uneven; 0 would be fair"""


@dataclass(frozen=True)
class Hub:
    """A target and how often it is among the first k."""

    row: int
    id: str
    count: int


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """Hubness with no correction: the k-occurrence of every target, zeros included, and numbers computed from it."""

    values: Mapping[str, float]
    counts: Mapping[int, IntArray]
    """k -> (gallery,) how often each target is among the first k"""
    ids: tuple[str, ...] | None
    queries: int
    gallery: int
    spread: float
    low: float
    high: float
    tau: float
    """the temperature that tau="auto" would use"""

    def __repr__(self) -> str:
        size = f"{counted(self.queries, 'query')} x {counted(self.gallery, 'target')}"
        return f"Diagnosis({size}, skew@10 {self['skew@10']:.2f})"

    def _repr_html_(self) -> str:
        title = f"targets by how often they are among the first {DEPTH}"
        return notebook.html_table(self._table(), notebook.histogram(self.counts[DEPTH], title))

    def plot(self, k: int = DEPTH) -> Any:
        """How often targets are among the first k: a matplotlib figure, as the report draws it."""
        return notebook.figures().diagnosis(self, k)

    def to_frame(self) -> Any:
        """The numbers as a pandas DataFrame: one row for each measure, one column for each k."""
        return notebook.frame(self._by_depth(), "measure")

    def _table(self) -> tables.Table:
        rows = [[name, *(f"{value:.2f}" for value in by_k.values())] for name, by_k in self._by_depth().items()]
        scores = f"scores {self.low:.3f} to {self.high:.3f}, std {self.spread:.4f}; tau='auto' is {self.tau:.3g}"
        return notebook.plain_table(self.sentence, ["", *(f"k = {k}" for k in self.counts)], rows, [scores])

    def _by_depth(self) -> dict[str, dict[int, float]]:
        names = dict.fromkeys(full.partition("@")[0] for full in self.values)
        return {name: {k: self.values[f"{name}@{k}"] for k in self.counts} for name in names}

    def __getitem__(self, name: str) -> float:
        if name not in self.values:
            raise InputError(f"there is no {name!r} here; a diagnosis has {', '.join(self.values)}.")
        return self.values[name]

    def hubs(self, most: int = 10, *, k: int = DEPTH) -> tuple[Hub, ...]:
        """The targets that come up most often among the first k, most frequent first."""
        counts = self._counts(k)
        order = np.argsort(-counts, kind="stable")[:most]
        return tuple(Hub(int(row), self._name(int(row)), int(counts[row])) for row in order if counts[row] > 0)

    def share(self, of: float = 0.01, *, k: int = 1) -> float:
        """The share of all first-k places taken by the most frequent targets, ``of`` of the gallery (at least one)."""
        counts = np.sort(self._counts(k))[::-1]
        heads = max(1, round(of * self.gallery))
        return float(counts[:heads].sum() / max(1, counts.sum()))

    @property
    def sentence(self) -> str:
        """The diagnosis in one sentence."""
        heads = max(1, round(0.01 * self.gallery))
        skew = self["skew@10"]
        kind = "even" if skew < MILD else "uneven" if skew < STRONG else "very uneven"
        taken = (
            f"{heads:,} of {self.gallery:,} targets {'takes' if heads == 1 else 'take'} {tables.percent(self.share())}"
        )
        return (
            f"Retrieval is {kind} (skew@10 {skew:.2f}): {taken} of the first places, "
            f"{tables.percent(self['antihub@10'] / 100)} of the targets are never among the first 10."
        )

    def table(self) -> str:
        """The numbers as plain text, k = 1, 5, 10 in columns."""
        return tables.text(self._table())

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "schema_version": SCHEMA_VERSION,
            "queries": self.queries,
            "gallery": self.gallery,
            "hubness": dict(self.values),
            "scores": {"std": self.spread, "low": self.low, "high": self.high, "tau_auto": self.tau},
            "hubs": [{"row": hub.row, "id": hub.id, "count": hub.count} for hub in self.hubs()],
            "sentence": self.sentence,
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def _counts(self, k: int) -> IntArray:
        if k not in self.counts:
            raise InputError(f"k is {k}; a diagnosis counts the first {', '.join(map(str, self.counts))}.")
        return self.counts[k]

    def _name(self, row: int) -> str:
        return str(row) if self.ids is None else self.ids[row]


@facade
def diagnose(
    data: Dataset | None = None,
    *,
    scores: Any = None,
    queries: Any = None,
    targets: Any = None,
    target_ids: Any = None,
    ignore_self: bool = False,
    metric: Similarity = "cosine",
    normalize: bool = False,
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Hubness with no correction.

    data: a Dataset in place of the arrays below.
    scores: (query, gallery) a matrix instead of embeddings.
    queries: (query, dim) embeddings. targets: (gallery, dim) embeddings.
    target_ids: ids of the gallery, if it comes without.
    ignore_self: query i is target i, and is left out of its own results.
    metric: "cosine" or "ip". normalize: scale vectors to unit length.
    memory: such as "2GB": bounds the scores that are held at once.
    progress: called with the name of the work, rows read and rows to read.

    Returns a Diagnosis: ``diagnosis["skew@10"]``, ``diagnosis.hubs()``.

    >>> diagnose(scores=np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])).hubs(1, k=1)
    (Hub(row=0, id='0', count=3),)
    """
    whole = dataset_of(diagnose, locals())
    with whole.words():
        bank, ids = whole.test_scores(progress=progress), whole.target_ids()
    masked = ignore_self or whole.ignore_self
    if masked and (bank.shape[1] < 2 or bank.shape[0] > bank.shape[1]):
        raise InputError(
            "ignore_self",
            f"needs query i to be target i of at least two, but {bank.shape[0]:,} queries meet {bank.shape[1]:,} "
            "targets",
            "leave it out",
        )
    top = _top(with_progress(Banks(bank), "diagnose", progress).queries, masked)
    size = bank.shape[1]
    scale = spread(bank)
    counts = {k: k_occurrence(top, size, min(k, top.shape[1])) for k in (1, 5, DEPTH)}
    values = summarise(Ranking.from_top(top, size), HUBNESS_METRICS)
    return Diagnosis(values, counts, ids, bank.shape[0], size, scale.std, scale.low, scale.high, scale.tau)


def _top(bank: ScoreSource, ignore_self: bool) -> IntArray:
    k = min(DEPTH, bank.shape[1] - int(ignore_self))
    parts = [top_k(mask_self(rows, start) if ignore_self else rows, k)[1] for start, rows in blocks(bank)]
    return np.concatenate(parts)
