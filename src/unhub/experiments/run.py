"""One experiment under one protocol: its methods and its evaluations, each computed once for tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unhub.api.evaluation import Evaluation
from unhub.dataset.experiment_file import Experiment, file_door
from unhub.experiments.presets import Preset
from unhub.experiments.sources import evaluated
from unhub.foundation.errors import InputError
from unhub.foundation.types import Progress
from unhub.methods import Method
from unhub.metrics import metric

RETRIEVAL = ("R@1", "R@5", "R@10", "MdR", "MnR")
SELF_RETRIEVAL = ("R@1", "R@2", "R@4", "R@8")
CLASSIFICATION = ("R@1", "R@5", "R@10")
OF_SETS = {
    "stanfordonlineproducts": ("R@1", "R@10", "R@100", "R@1000"),
    "sop": ("R@1", "R@10", "R@100", "R@1000"),
    "inshop": ("R@1", "R@10", "R@20", "R@30"),
    "inshopclothesretrieval": ("R@1", "R@10", "R@20", "R@30"),
}
"""metrics that sets are usually reported with, by their names without signs and capitals"""
SKEWNESS = ("skew@1", "skew@5", "skew@10", "R@1")
RANK = "MnR"
"""whose value for a query is its rank; always computed, since queries are compared by it"""
ONE_BANK = ("is", "dis", "sn")
TWO_BANKS = ("dualis", "dualdis", "dbsn")


@dataclass(frozen=True)
class Run:
    """What every table and figure works on."""

    experiment: Experiment
    preset: Preset
    progress: Progress | None = None
    _evaluations: dict[tuple[str | None, str], Evaluation] = field(default_factory=dict, repr=False, compare=False)
    """by bank and direction"""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those of the file, or those that the set or the task usually has."""
        its = self.experiment
        if its.metrics:
            return tuple(metric(name).name for name in its.metrics)
        by_task = {"classification": CLASSIFICATION, "self-retrieval": SELF_RETRIEVAL}
        name = "".join(letter for letter in its.name.lower() if letter.isalnum())
        return OF_SETS.get(name) or by_task.get(its.task, RETRIEVAL)

    def methods(self, names: tuple[str, ...], direction: str, *, banked: bool) -> list[Method]:
        """These methods, as the preset and the file have them."""
        its = self.experiment
        try:
            return [
                self.preset.method(each, its.modality, direction, banked=banked, given=its.settings) for each in names
            ]
        except InputError as error:
            raise InputError(f"{its.path}: {error.sentence(file_door())}") from error

    def ways(self, bank: str | None = None) -> dict[str, str]:
        """The directions that a bank serves, by the file's names; back only by embeddings, its targets the queries."""
        its = self.experiment
        back = its.both_ways and (bank is None or (its.vectors and {"queries", "targets"} <= set(its.banks[bank])))
        return dict(zip(its.directions, ("forward", "reverse") if back else ("forward",), strict=False))

    def evaluation(self, way: str, bank: str | None = None) -> Evaluation:
        """Every method that a bank of the file, or the test queries as the bank, can serve; computed once."""
        if (bank, way) not in self._evaluations:
            both = bank is not None and self.experiment.has_targets(bank)
            names = ("none", *ONE_BANK, *(TWO_BANKS if both else ()))
            self._evaluations[bank, way] = evaluated(
                self.experiment,
                self.preset,
                self.methods(names, way, banked=bank is not None),
                direction=way,
                metrics=tuple(dict.fromkeys((*self.metrics, *SKEWNESS, RANK))),
                bank=bank,
                progress=self.progress,
            )
        return self._evaluations[bank, way]

    def evaluations(
        self, methods: tuple[str, ...], metrics: tuple[str, ...], bank: str | None = None
    ) -> dict[str, Evaluation]:
        """These methods and metrics alone, by the name of each direction."""
        return {name: _only(self.evaluation(way, bank), methods, metrics) for name, way in self.ways(bank).items()}


def _only(evaluation: Evaluation, methods: tuple[str, ...], metrics: tuple[str, ...]) -> Evaluation:
    """The evaluation with these methods and metrics alone."""

    def chosen(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: values[name] for name in metrics if name in values}

    rank = {RANK} - set(metrics)  # stays: queries are compared by it
    rows = {
        label: replace(
            row,
            values=chosen(row.values),
            intervals=chosen(row.intervals),
            per_query=chosen(row.per_query) | {name: row.per_query[name] for name in rank},
        )
        for label, row in evaluation.rows.items()
        if row.method in methods
    }
    return replace(evaluation, rows=rows, metrics=metrics)
