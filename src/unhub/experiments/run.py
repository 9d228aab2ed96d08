"""One dataset under one protocol: its methods and its evaluations, each computed once for tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from unhub.api.evaluation import Evaluation
from unhub.api.guard import GuardedBias
from unhub.api.ranking_pair import RankingPair
from unhub.api.running import Options, run
from unhub.core.parameters import count, seed_number
from unhub.dataset import Dataset
from unhub.experiments.hashes import contents
from unhub.experiments.protocols import Preset
from unhub.foundation.errors import InputError
from unhub.foundation.types import Progress
from unhub.foundation.wording import setting, spoken
from unhub.methods import COSINE_LIMIT, CappedSN, Method, method_class
from unhub.methods.sn_dbsn import for_own_log
from unhub.metrics import metric
from unhub.scores import spread

RETRIEVAL = ("R@1", "R@5", "R@10", "MdR", "MnR")
SELF_RETRIEVAL = ("R@1", "R@2", "R@4", "R@8")
CLASSIFICATION = ("R@1", "R@5", "R@10")
OF_SETS = {
    "stanfordonlineproducts": ("R@1", "R@10", "R@100", "R@1000"),
    "sop": ("R@1", "R@10", "R@100", "R@1000"),
    "inshop": ("R@1", "R@10", "R@20", "R@30"),
    "inshopclothesretrieval": ("R@1", "R@10", "R@20", "R@30"),
}
"""the usual metrics of known sets, by their names in small letters without signs"""
SKEWNESS = ("skew@1", "skew@5", "skew@10", "R@1")
RANK = "MnR"
"""its value per query is the rank; always computed, since queries are compared by it"""
ONE_BANK = ("is", "dis", "sn")
TWO_BANKS = ("dualis", "dualdis", "dbsn")
AFTER = ("dbsn", "capped_sn", "sn")
"""the correction beside no correction in figures and reports: the first of these that a bank serves"""


@dataclass(frozen=True)
class Run:
    """A dataset under a protocol; tables, figures and reports share its evaluations."""

    data: Dataset
    preset: Preset
    progress: Progress | None = None
    _evaluations: dict[tuple[str | None, str, str], Evaluation] = field(default_factory=dict, repr=False, compare=False)
    """by bank, direction and last method"""

    @cached_property
    def contents(self) -> dict[str, Any]:
        """All that a result depends on but the protocol, with the hashes of files and arrays; computed once."""
        return contents(self.data)

    @property
    def names(self) -> tuple[str, str]:
        """What tables call the dataset and the model."""
        return self.data.name or "dataset", self.data.model or "model"

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those of the dataset, or the usual ones of the set or the task."""
        if self.data.metrics:
            return tuple(metric(name).name for name in self.data.metrics)
        by_task = {"classification": CLASSIFICATION, "self-retrieval": SELF_RETRIEVAL}
        name = "".join(letter for letter in self.data.name.lower() if letter.isalnum())
        return OF_SETS.get(name) or by_task.get(self.data.task_type, RETRIEVAL)

    def method(self, name: str, direction: str, *, banked: bool) -> Method:
        """A method with the settings of the protocol and of the dataset; banked: with a bank of other queries.

        Of the gallery's own log, unhub's own protocol takes capped SN in place of SN, as ``fit`` does.
        """
        data = self.data
        with data.words():
            chosen = self.preset.method(name, data.modality, direction, banked=banked, settings=data.settings)
        return for_own_log(chosen) if banked and data.own_log and not self.preset.published else chosen

    def methods(self, names: Sequence[str], direction: str, *, banked: bool) -> list[Method]:
        """These methods, each as ``method`` gives it."""
        return [self.method(each, direction, banked=banked) for each in names]

    def evaluation(
        self, way: str, bank: str | None = None, also: str | None = None, data: Dataset | None = None
    ) -> Evaluation:
        """Every method of the paper that a bank, or the test queries as the bank, can serve; computed once.

        also: another method by name. data: without relevance, which leaves the metrics that need none.
        """
        marginals = set() if self.data.source("target_prior") is None else {"target_prior"}
        names = ["none", *ONE_BANK]
        if bank is not None:
            its = self.data.banks[bank]
            marginals |= set() if its.weights is None else {"query_weight"}
            names += TWO_BANKS if its.has_targets else ()
        names = [name for name in names if marginals <= method_class(name).marginals]
        names += [also] if also is not None and also not in names else []
        key = (bank, way, names[-1])
        if key not in self._evaluations:
            methods = self.methods(names, way, banked=bank is not None)
            metrics = (*self.metrics, *SKEWNESS, RANK) if data is None else (*SKEWNESS[:-1], "antihub@10", "gini@10")
            self._evaluations[key] = self.evaluate(
                methods, way, tuple(dict.fromkeys(metrics)), bank=bank, data=data, progress=self.progress
            )
        return self._evaluations[key]

    def evaluations(
        self, methods: tuple[str, ...], metrics: tuple[str, ...], bank: str | None = None
    ) -> dict[str, Evaluation]:
        """Some methods and metrics of ``evaluation``, by the name of each direction."""
        ways = self.data.directions_of(bank)
        return {name: _selection(self.evaluation(way, bank), methods, metrics) for name, way in ways.items()}

    def evaluate(
        self,
        methods: Sequence[Method],
        way: str,
        metrics: Sequence[str],
        *,
        bank: str | None = None,
        ties: str | None = None,
        data: Dataset | None = None,
        known: Mapping[str, GuardedBias] | None = None,
        progress: Progress | None = None,
    ) -> Evaluation:
        """Methods in one direction with one bank, or with the test queries as the bank.

        ties: how equal scores rank in place of the protocol's way; the dataset's settings come first. data: in place of
        the run's own, such as one with a part of a bank. known: biases that were estimated before, by method.
        """
        whole = self.data if data is None else data
        settings = whole.settings
        with whole.words(bank, way):
            options = Options(
                metrics=tuple(dict.fromkeys(metric(name).name for name in metrics)),
                ties=settings.get("ties", ties or self.preset.ties),
                group_targets=whole.group_targets,
                ignore_self=whole.ignore_self,
                resamples=count("resamples", settings.get("resamples", 1000)),
                seed=seed_number("seed", settings.get("seed", 0)),
                lenient=False,
                progress=progress,
            )
            task = whole.task(way, bank, progress=progress)
            if task.relevance is None:
                raise InputError("relevant", "is missing", "say which targets are right for each query")
            result = run(task, methods, options, known)
        door = whole.door(bank)
        rows = {
            label: replace(row, notes=tuple(spoken(note, door) for note in row.notes))
            for label, row in result.rows.items()
        }
        return replace(result, rows=rows)

    def pairs(self, bank: str | None = None) -> dict[str, RankingPair]:
        """No correction beside DBSN, or SN, by the name of each direction that the bank serves."""
        pairs = {}
        for title, way in self.data.directions_of(bank).items():
            evaluation, relevance = self.evaluation(way, bank), self.data.relevance(way)
            assert relevance is not None
            after = evaluation[next(name for name in AFTER if name in evaluation.rows)]
            pairs[title] = RankingPair(evaluation["none"], after, relevance, *self.data.items(way))
        return pairs

    def refuse_scores(self) -> None:
        """Refuses test scores that are all the same, and logits where the temperatures are published ones."""
        scores = spread(self.data.test_scores())
        with self.data.words():
            if scores.low == scores.high:
                raise InputError(f"every test score is {scores.low:.3g}, which ranks nothing; check the data.")
            if self.preset.published and "tau" not in self.data.settings and scores.largest > COSINE_LIMIT:
                raise InputError(
                    f"the test scores run from {scores.low:.3g} to {scores.high:.3g} and look like logits, but the "
                    f"temperatures of the protocol {self.preset.name} are for cosines; use the protocol auto, divide "
                    f"the scores by their logit scale (often 100), or pass {setting('tau', 'auto')} (about "
                    f"{scores.tau:.2g} here)."
                )


def _selection(evaluation: Evaluation, methods: tuple[str, ...], metrics: tuple[str, ...]) -> Evaluation:
    """The evaluation with these methods and metrics alone, and the rank per query."""

    def chosen(values: Mapping[str, Any], *more: str) -> dict[str, Any]:
        return {name: values[name] for name in (*metrics, *more) if name in values}

    rows = {
        label: replace(
            row, values=chosen(row.values), intervals=chosen(row.intervals), per_query=chosen(row.per_query, RANK)
        )
        for label, row in evaluation.rows.items()
        if row.method in methods or (row.method == CappedSN.name and "sn" in methods)
    }
    return replace(evaluation, rows=rows, metrics=metrics)
