"""The arrays of an experiment as ``unhub.evaluate`` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.api.evaluation import Evaluation
from unhub.api.running import Options, run
from unhub.core.parameters import count, seed_number
from unhub.dataset import Dataset, Task
from unhub.dataset.experiment_file import BANK_KEYS, CAPTIONS, Experiment
from unhub.dataset.sources import ARGUMENTS, Bank
from unhub.experiments.presets import Preset
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray, Progress
from unhub.foundation.wording import spoken
from unhub.io import open_rows
from unhub.methods import COSINE_LIMIT, Method
from unhub.metrics import Relevance, metric
from unhub.scores import ScoreSource, spread
from unhub.scores.source import blocks

PART_SAMPLE = "part"
"""the bank that is drawn from another one"""


def evaluated(
    experiment: Experiment,
    preset: Preset,
    methods: list[Method],
    *,
    direction: str,
    metrics: tuple[str, ...],
    bank: str | None = None,
    plan: FloatArray | None = None,
    ties: str | None = None,
    arrays: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """One direction of an experiment with one bank, or with the test queries as the bank.

    plan: a matrix (query, target) that stands for the scores of the test set. ties: how equal scores rank, instead of
    as the preset has it; the file has the last word. arrays: banks as evaluate takes them, instead of the bank's own.
    """
    data = Dataset.from_experiment(experiment)
    if plan is not None:
        data = data.with_scores(plan)
    if arrays is not None:
        parts = {part: arrays[name] for part, name in ARGUMENTS.items() if name in arrays}
        data.banks = {bank or PART_SAMPLE: Bank(**parts)}
        data.allow_overlap |= bank is None  # a part of the test queries is their bank
    settings = experiment.settings
    with data.words(bank, direction):
        options = Options(
            metrics=tuple(dict.fromkeys(metric(name).name for name in metrics)),
            ties=settings.get("ties", ties or preset.ties),
            group_targets=data.group_targets,
            ignore_self=data.ignore_self,
            resamples=count("resamples", settings.get("resamples", 1000)),
            seed=seed_number("seed", settings.get("seed", 0)),
            lenient=False,
            progress=progress,
        )
        task = data.task(direction, bank if arrays is None or bank else PART_SAMPLE, progress=progress)
        result = run(task, methods, options)
    door = data.door(bank)
    rows = {
        label: replace(row, notes=tuple(spoken(note, door) for note in row.notes)) for label, row in result.rows.items()
    }
    return replace(result, rows=rows)


def refuse_unusable(experiment: Experiment, bank: str | None, direction: str) -> None:
    """An error where ``evaluated`` would refuse what is in the files; nothing is evaluated."""
    trial_of(experiment, bank, direction)


def trial_of(experiment: Experiment, bank: str | None, direction: str) -> Task:
    """What ``evaluated`` works on, opened and checked: test scores, what is right, and the banks."""
    return Dataset.from_experiment(experiment).task(direction, bank)


def matrix_of(experiment: Experiment) -> FloatArray:
    """The scores of the test set (query, target), whole: the file's, or the products of its embeddings."""
    return np.concatenate([np.asarray(rows, dtype=np.float32) for _, rows in blocks(scores_of(experiment))])


def score_spread(experiment: Experiment) -> float:
    """The standard deviation of the test scores, from a sample."""
    return spread(scores_of(experiment)).std


def refuse_logits(experiment: Experiment) -> None:
    """An error where scores are no cosines and the file gives no temperature, or where all are the same."""
    seen = spread(scores_of(experiment))
    if seen.low == seen.high:
        raise InputError(
            f"{experiment.path}: every test score is {seen.low:.3g}, which ranks nothing; check the files."
        )
    if "tau" in experiment.settings:
        return
    if seen.largest > COSINE_LIMIT:
        raise InputError(
            f"{experiment.path}: the test scores run from {seen.low:.3g} to {seen.high:.3g} and look like logits, not "
            f"cosines, which the protocol's temperatures are made for; divide them by their logit scale, often 100, or "
            f'write tau = "auto" (about {seen.tau:.2g} here) in the section [settings].'
        )


def rows_of(source: str, name: str) -> FloatArray:
    """Every row of a file."""
    found: FloatArray = np.asarray(open_rows(source, name=name)[:], dtype=np.float32)
    return found


def scores_of(experiment: Experiment) -> ScoreSource:
    """The scores of the test set, in blocks."""
    return Dataset.from_experiment(experiment).test_scores()


@dataclass(frozen=True, eq=False)
class BankParts:
    """A bank whole, so that parts of it can be drawn: how many queries and targets it has, and its arrays."""

    queries: int
    targets: int | None
    arrays: Mapping[str, FloatArray]
    """as evaluate names them"""

    def only(self, rows: IntArray, others: IntArray | None) -> dict[str, FloatArray]:
        """These rows and these targets of it."""
        chosen = {}
        for name, array in self.arrays.items():
            part = array[others if name in ("target_bank", "target_bank_scores") else rows]
            chosen[name] = part[:, others] if name == "cross_bank_scores" else part
        return chosen


def bank_parts(experiment: Experiment, bank: str | None, *, reverse: bool = False) -> BankParts:
    """The arrays of a bank; without one, the test queries are the bank, or in reverse the test targets."""
    if bank is not None:
        arrays = {name: rows_of(path, f"banks.{bank}") for name, path in bank_files(experiment, bank).items()}
    elif reverse:
        arrays = {"target_bank": rows_of(experiment.test["targets"], "test.targets")}
    else:
        name = "query_bank" if experiment.vectors else "query_bank_scores"
        side = "scores" if not experiment.vectors else "queries" if "queries" in experiment.test else "targets"
        arrays = {name: rows_of(experiment.test[side], f"test.{side}")}
    queries = arrays.get("query_bank" if experiment.vectors else "query_bank_scores", ())
    if "target_bank" in arrays:
        targets: int | None = len(arrays["target_bank"])
    else:
        targets = arrays["cross_bank_scores"].shape[1] if "cross_bank_scores" in arrays else None
    return BankParts(len(queries), targets, arrays)


def bank_files(experiment: Experiment, name: str) -> dict[str, Any]:
    """The files of a bank, as evaluate names them."""
    parts = experiment.banks[name]
    return {argument: parts[key] for argument, key in BANK_KEYS.items() if key in parts and key != CAPTIONS}


def ids_of(experiment: Experiment, *, reverse: bool = False) -> tuple[list[str], list[str]]:
    """The ids of queries and targets: the file's, the arrays' own, or row numbers; in reverse they change places."""
    queries, targets = Dataset.from_experiment(experiment).items("reverse" if reverse else "forward")
    return list(queries.ids), list(targets.ids)


def relevance_of(experiment: Experiment, *, reverse: bool = False) -> Relevance:
    """What is right for which query."""
    data = Dataset.from_experiment(experiment)
    data.allow_empty = True
    found = data.relevance("reverse" if reverse else "forward")
    assert found is not None
    return found
