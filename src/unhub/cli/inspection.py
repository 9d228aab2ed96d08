"""A look at files before anything runs: what they hold, and everything that is wrong with them, not only the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import numpy as np

from unhub.cli.inputs import relevance
from unhub.cli.lengths import row_lengths, vector_problems
from unhub.core.checks import check_dimension, check_scores
from unhub.dataset.galleries import open_source
from unhub.dataset.reader import Reader, column_ids, marginal, named, same_rows
from unhub.dataset.task import count_shared
from unhub.foundation.errors import UnhubError
from unhub.io import Rows, open_rows, read_numbers, read_relevance
from unhub.metrics import Relevance
from unhub.scores import ScoreSource, Spread, spread

P = ParamSpec("P")
T = TypeVar("T")

VECTORS = ("targets", "queries", "query_bank", "target_bank")
MATRICES = ("scores", "query_bank_scores", "cross_bank_scores", "target_bank_scores")
SHARED = (
    ("query_bank_scores", "scores", (1, 1)),
    ("cross_bank_scores", "query_bank_scores", (0, 0)),
    ("target_bank_scores", "scores", (1, 1)),
)
"""matrices that share an axis: (matrix, matrix, axis of each)"""

LOGITS = 1.5
"""scores beyond this are no cosines, whatever the rounding"""


@dataclass
class Inspection:
    """What was found: the files by flag, sentences about what is wrong, and numbers about what is right."""

    given: Mapping[str, Any]
    rows: dict[str, Rows] = field(default_factory=dict)
    lengths: dict[str, tuple[float, float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    relevance: Relevance | None = None
    bank: ScoreSource | None = None
    scores: Spread | None = None

    @property
    def logits(self) -> bool:
        """Whether the scores are too large for cosines."""
        return self.scores is not None and max(abs(self.scores.low), abs(self.scores.high)) > LOGITS

    def tried(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """What the call gives back, or None and one problem more."""
        try:
            return call(*args, **kwargs)
        except UnhubError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return None


def inspect(given: Mapping[str, Any]) -> Inspection:
    """Everything about the files of these flags that can be told without a fit."""
    seen = Inspection(given)
    reader = seen.tried(Reader, given["metric"], given["normalize"], given.get("memory")) or Reader()
    for name in VECTORS:
        _open_vectors(seen, name, reader)
    for name in MATRICES:
        _open_matrix(seen, name)
    _fit_together(seen)
    sound = not seen.problems
    _relevance(seen)
    _weights(seen)
    if sound:
        seen.bank = _bank(seen.rows, reader)
        seen.scores = None if seen.bank is None else spread(seen.bank)
    if seen.logits and seen.scores is not None:
        seen.notes.append(
            f"the scores run from {seen.scores.low:.3g} to {seen.scores.high:.3g} and look like logits, not cosines; "
            f"use --tau auto, or divide them by their logit scale, often 100."
        )
    return seen


def _open_vectors(seen: Inspection, name: str, reader: Reader) -> None:
    rows = seen.tried(open_source, seen.given[name], name=name) if name in seen.given else None
    if rows is None:
        return
    ids = seen.given.get({"targets": "target_ids", "queries": "query_ids"}.get(name, ""))
    rows = seen.tried(named, rows, ids) or rows
    seen.rows[name] = rows
    seen.lengths[name] = row_lengths(rows)
    seen.problems += vector_problems(rows, name, unit=reader.metric == "cosine" and not reader.normalize)


def _open_matrix(seen: Inspection, name: str) -> None:
    rows = seen.tried(open_rows, seen.given[name], name=name) if name in seen.given else None
    if rows is not None:
        seen.rows[name] = rows
        seen.tried(check_scores, rows, name)


def _fit_together(seen: Inspection) -> None:
    """Dimensions, shared axes, and test queries that are in the bank."""
    vectors = [seen.rows[name] for name in VECTORS if name in seen.rows]
    for other in vectors[1:]:
        seen.tried(check_dimension, other, other.name, vectors[0], vectors[0].name)
    for name, beside, axes in SHARED:
        if name in seen.rows and beside in seen.rows:
            seen.tried(same_rows, seen.rows[name], name, seen.rows[beside], beside, axis=axes)
    for name, beside in (("queries", "query_bank"), ("scores", "query_bank_scores")):
        test, bank = seen.rows.get(name), seen.rows.get(beside)
        alike = test is not None and bank is not None and test.shape[1] == bank.shape[1]
        if test is not None and bank is not None and alike and not seen.given["allow_overlap"]:
            seen.tried(count_shared, test, bank, unit=bool(seen.given["normalize"]), allowed=False)


def _relevance(seen: Inspection) -> None:
    if "relevant" not in seen.given:
        return
    shape, names = _sides(seen)
    if shape is None:
        seen.notes.append("relevant was not looked at: it needs --scores, or --queries and --targets.")
        return
    source = seen.tried(relevance, seen.given["relevant"], shape)
    if source is None:
        return
    ids = {"query_ids": names[0], "target_ids": names[1]}
    seen.relevance = seen.tried(read_relevance, source, queries=shape[0], targets=shape[1], **ids)
    if seen.relevance is not None:
        never = shape[1] - np.unique(seen.relevance.targets).size
        seen.notes += [f"{never:,} of {shape[1]:,} targets are right for no query."] if never else []


def _sides(seen: Inspection) -> tuple[tuple[int, int] | None, list[Any]]:
    """How many queries and targets there are, and their ids; None where one of them is missing."""
    if "scores" in seen.rows:
        shape = seen.rows["scores"].shape
        flags = zip(("query_ids", "target_ids"), shape, strict=True)
        return shape, [seen.tried(column_ids, seen.given.get(name), count, "scores") for name, count in flags]
    if "queries" not in seen.rows or "targets" not in seen.rows:
        return None, []
    sides = seen.rows["queries"], seen.rows["targets"]
    return (len(sides[0]), len(sides[1])), [side.ids for side in sides]


def _weights(seen: Inspection) -> None:
    """One weight for each bank query, and one for each target, whichever file says how many there are."""
    banks = ("query_bank", "query_bank_scores", "queries", "scores")
    sizes = {
        "query_weight": [len(seen.rows[name]) for name in banks if name in seen.rows],
        "target_prior": [
            len(rows) if name == "targets" else rows.shape[1]
            for name, rows in seen.rows.items()
            if name in ("targets", "scores", "query_bank_scores")
        ],
    }
    for name, of in (("query_weight", "bank queries"), ("target_prior", "targets")):
        values = seen.tried(read_numbers, seen.given[name], name=name) if name in seen.given else None
        if values is not None and sizes[name]:
            seen.tried(marginal, values, name, sizes[name][0], of)


def _bank(rows: Mapping[str, Rows], reader: Reader) -> ScoreSource | None:
    """The scores that a fit would read: the bank's, or those of the test queries where there is no bank."""
    matrix = rows.get("query_bank_scores", rows.get("scores"))
    if matrix is not None:
        return reader.matrix(matrix)
    bank, targets = rows.get("query_bank", rows.get("queries")), rows.get("targets")
    return None if bank is None or targets is None else reader.products(bank, targets)
