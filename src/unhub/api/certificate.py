"""Certificates: which results of a search provably cannot change while scores are off by at most an error."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.api.hits import Hits
from unhub.api.index_comparison import IndexComparison
from unhub.core.arrays import host
from unhub.core.checks import survey_vectors
from unhub.core.parameters import not_negative
from unhub.dataset.reader import Reader
from unhub.foundation.errors import InputError
from unhub.foundation.types import BoolArray, FloatArray, IntArray, Progress
from unhub.foundation.wording import argument, counted, did_you_mean
from unhub.io import Rows
from unhub.scores import Banks, search, with_progress
from unhub.scores.margins import staying_hits, staying_places
from unhub.scores.stored_vectors import STORAGES, Residuals, score_errors


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """Which of the k best targets of each query provably stay. Made by ``Correction.certify``.

    It holds for any index whose scores differ from those of ``Correction.search`` by at most ``errors``, and any bias
    within ``bias_error``, as long as the index looks at every target.

    rows: (query, k) the best targets of exact search, best first, as rows of the gallery.
    hits_certain: (query, k) whether each of them stays among the k best.
    places_certain: (query, k) whether each of them keeps its place.
    errors: (query,) how far a score of each query may be off.
    bias_error: how far a bias may be off; 0 for a method without an error bound.
    origin: where the error comes from: "given", "float32", "float16" or "int8".
    """

    rows: IntArray
    hits_certain: BoolArray
    places_certain: BoolArray
    errors: FloatArray
    bias_error: float
    origin: str

    @property
    def k(self) -> int:
        """How many of the best count."""
        return int(self.rows.shape[1])

    @property
    def error(self) -> float:
        """How far any score may be off: the largest of ``errors``."""
        return float(self.errors.max(initial=0.0))

    @property
    def set_certain(self) -> BoolArray:
        """(query,) whether the k best stay the same, in whatever order."""
        return self.hits_certain[:, -1]  # the last one stays only if all others do

    @property
    def first_certain(self) -> BoolArray:
        """(query,) whether the first place stays the same."""
        return self.places_certain[:, 0]

    @property
    def set_share(self) -> float:
        """The share of queries whose k best stay the same."""
        return _share(self.set_certain)

    @property
    def first_share(self) -> float:
        """The share of queries whose first place stays the same."""
        return _share(self.first_certain)

    @property
    def hit_share(self) -> float:
        """The share of all hits that stay among the k best."""
        return _share(self.hits_certain)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        shares = f"sets {_percent(self.set_certain)}, first places {_percent(self.first_certain)}"
        return f"Certificate({counted(len(self), 'query')} x {self.k}: {shares}, error {self.error:.2g})"

    @property
    def sentence(self) -> str:
        """The certificate in one sentence."""
        best = "best target" if self.k == 1 else f"{self.k} best targets"
        sets, firsts = self.set_certain, self.first_certain
        first = "" if self.k == 1 else f", for {firsts.sum():,} ({_percent(firsts)}) the first one"
        whence = "" if self.origin == "given" else f" (vectors in {self.origin})"
        biases = f", biases by at most {self.bias_error:.2g}," if self.bias_error else ""
        return (
            f"For {sets.sum():,} of {counted(len(self), 'query')} ({_percent(sets)}) the {best} cannot change{first}, "
            f"if scores are off by at most {self.error:.2g}{whence}{biases} and the index looks at every target."
        )

    def compare(self, hits: Hits) -> IndexComparison:
        """How the hits of an index for the same queries differ from exact search, and whether score errors can say why.

        hits: at least k of each of the same queries, without a filter, as ``unhub.connect(...).search`` gives them.

        Returns an IndexComparison.
        """
        rows = None if hits.rows is None else np.atleast_2d(host(hits.rows))
        if rows is None or len(rows) != len(self) or rows.shape[1] < self.k:
            came = "has no rows" if rows is None else f"has {rows.shape[0]:,} x {rows.shape[1]} hits"
            raise InputError("hits", came, f"give {self.k} hits of each of the same {counted(len(self), 'query')}")
        same = (np.sort(rows[:, : self.k], axis=1) == np.sort(self.rows, axis=1)).all(axis=1)
        return IndexComparison(same, ~same & self.set_certain, self.k)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "queries": len(self),
            "k": self.k,
            "error": self.error,
            "origin": self.origin,
            "bias_error": self.bias_error,
            "set_share": self.set_share,
            "first_share": self.first_share,
            "hit_share": self.hit_share,
            "set_certain": self.set_certain.tolist(),
            "first_certain": self.first_certain.tolist(),
            "sentence": self.sentence,
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)


def certify(
    reader: Reader,
    queries: Rows,
    targets: Rows,
    bias: FloatArray,
    bias_error: float,
    *,
    k: int,
    error: float | str,
    progress: Progress | None = None,
) -> Certificate:
    """The certificate of a search.

    reader: how vectors are read. queries: (query, dim), targets: (gallery, dim), opened and checked.
    bias: (gallery,) as it is added to scores. bias_error: how far it may be off.
    k: how many of the best count.
    error: how far a score may be off, or how an index keeps its vectors.
    progress: called with the name of the work, rows read and rows to read.
    """
    _refuse_overflow(reader, queries, targets)
    storage = error if isinstance(error, str) else "given"
    if storage == "given":
        errors = np.full(len(queries), _given(error))
    elif storage in STORAGES:
        residuals = Residuals(targets, bias, STORAGES[storage], reader.scaled)
        errors = score_errors(queries, residuals, reader.rows_at_once(len(queries)), progress)
    else:
        hint = did_you_mean(storage, STORAGES)
        raise InputError("error", f"is {error!r}", f"{hint} {ADVICE.capitalize()}" if hint else ADVICE)
    products = reader.products(queries, targets)
    source = with_progress(Banks(products), "certify", progress).queries
    best, columns = (host(each) for each in search(source, bias, k + 1, reader.execution(products)))
    reach, k = errors + bias_error, min(k, len(targets))
    places = staying_places(best, reach, k)
    return Certificate(columns[:, :k], staying_hits(best, reach, k), places, errors, bias_error, storage)


ADVICE = f"give a number of at least 0 in the unit of the scores, or one of {', '.join(STORAGES)}"


def _refuse_overflow(reader: Reader, queries: Rows, targets: Rows) -> None:
    """An error if a sum of products may leave float32: what became infinite, or no number, has no margin."""
    if reader.metric == "ip":
        largest = survey_vectors(queries).longest * survey_vectors(targets).longest
        if not largest < float(np.finfo(np.float32).max):
            raise InputError(queries.name, f"and {argument(targets.name)} are so long that their scores may leave "
                             f"float32 (up to {largest:.2g})", "scale them down")  # fmt: skip


def _given(error: Any) -> float:
    try:
        return not_negative("error", error)
    except InputError as wrong:
        raise InputError("error", wrong.came, ADVICE) from None


def _share(certain: BoolArray) -> float:
    return float(certain.mean()) if certain.size else 1.0


def _percent(certain: BoolArray) -> str:
    """Rounded down, so that 100% means all.

    >>> _percent(np.arange(1000) > 0)
    '99.9%'
    """
    return f"{math.floor(1000 * _share(certain)) / 10:g}%"
