"""What figures show of an experiment: who is ranked where before and after, with names and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unhub.api.evaluation import Evaluation, MethodResult
from unhub.dataset import Dataset, Items
from unhub.dataset.experiment_file import Experiment
from unhub.experiments.run import Run
from unhub.experiments.sources import relevance_of, scores_of
from unhub.foundation.types import BoolArray, FloatArray, IntArray
from unhub.metrics import Relevance, k_occurrence
from unhub.scores.source import blocks

AFTER = ("dbsn", "sn")
"""the method that stands beside no correction: the first of these that a bank can serve"""


@dataclass(frozen=True, eq=False)
class View:
    """One direction of an experiment with one bank."""

    title: str
    evaluation: Evaluation
    relevance: Relevance
    queries: Items
    targets: Items

    @property
    def before(self) -> MethodResult:
        """No correction."""
        return self.evaluation["none"]

    @property
    def after(self) -> MethodResult:
        """The correction that is shown beside it."""
        return self.evaluation[next(name for name in AFTER if name in self.evaluation.rows)]

    def counts(self, row: MethodResult, k: int) -> IntArray:
        """How many queries have each target among their first k."""
        return k_occurrence(row.top, self.relevance.gallery, min(k, row.top.shape[1]))

    def right(self, query: int, targets: Sequence[int] | IntArray) -> BoolArray:
        """Which of these targets are right for a query."""
        start, end = self.relevance.indptr[query : query + 2]
        return np.isin(np.asarray(targets), self.relevance.targets[start:end])


def views(run: Run, bank: str | None = None) -> list[View]:
    """A view for each direction that the bank serves; without one, the test queries are the bank."""
    its = run.experiment
    sides = sides_of(its)
    made = []
    for title, way in run.ways(bank).items():
        back = way == "reverse"
        queries, targets = sides[::-1] if back else sides
        made.append(View(title, run.evaluation(way, bank), relevance_of(its, reverse=back), queries, targets))
    return made


def some_scores(experiment: Experiment, most: int, *, reverse: bool = False) -> FloatArray:
    """The scores of evenly spaced queries with all targets: (at most ``most``, gallery)."""
    bank = scores_of(experiment)
    chosen = np.linspace(0, bank.shape[int(reverse)] - 1, min(most, bank.shape[int(reverse)])).round().astype(int)
    parts = []
    for start, rows in blocks(bank):
        if reverse:
            parts.append(np.asarray(rows)[:, chosen])
        else:
            inside = chosen[(chosen >= start) & (chosen < start + len(rows))] - start
            parts.append(np.array(np.asarray(rows)[inside]))
    found: FloatArray = np.concatenate(parts)
    return found.T if reverse else found


def sides_of(experiment: Experiment) -> tuple[Items, Items]:
    """The queries and the targets of the test set; an error where captions or pictures do not fit."""
    return Dataset.from_experiment(experiment).items()
