"""The arrays of an experiment as ``unhub.evaluate`` takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.api.evaluate import evaluate
from unhub.api.evaluation import Evaluation
from unhub.api.progress import Progress
from unhub.api.sources import Reader
from unhub.api.temperature import COSINE_LIMIT
from unhub.api.trial import Terms, Trial, open_side
from unhub.banks import Bank, spread
from unhub.banks.bank import blocks
from unhub.experiments.experiment import CHOICES, Experiment
from unhub.experiments.mistakes import CAPTIONS
from unhub.experiments.presets import Preset
from unhub.experiments.wording import in_file
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.io import open_rows, read_ids, read_relevance, relevance_from_labels
from unhub.methods import Method
from unhub.metrics import Relevance

OF_BANKS = {"scores": "query_bank_scores", "cross": "cross_bank_scores", "target_scores": "target_bank_scores"}


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
    given = {name: value for name, value in experiment.settings.items() if name in CHOICES}
    if arrays is not None and bank is None:
        given["allow_overlap"] = True  # a part of the test queries is their bank
    with _told(experiment, bank, direction):
        return evaluate(
            **_test(experiment, plan),
            **(arrays if arrays is not None else {} if bank is None else bank_files(experiment, bank)),
            methods=methods,
            metrics=metrics,
            direction=direction,  # type: ignore[arg-type]
            ties=experiment.settings.get("ties", ties or preset.ties),
            ignore_self=experiment.task == "self-retrieval",
            progress=progress,
            **given,
        )


def refuse_unusable(experiment: Experiment, bank: str | None, direction: str) -> None:
    """An error where ``evaluated`` would refuse what is in the files; nothing is evaluated."""
    trial_of(experiment, bank, direction)


def trial_of(experiment: Experiment, bank: str | None, direction: str) -> Trial:
    """What ``evaluated`` works on, opened and checked: test scores, what is right, and the banks."""
    said = experiment.settings
    names = ("query_bank", "target_bank", "query_bank_scores", "cross_bank_scores", "target_bank_scores")
    arrays = _test(experiment, None) | ({} if bank is None else bank_files(experiment, bank))
    reader = Reader(said.get("metric", "cosine"), bool(said.get("normalize", False)), said.get("memory"), tensors=False)
    with _told(experiment, bank, direction):
        return open_side(
            reader,
            vectors={name: arrays.get(name) for name in ("queries", "targets", *names[:2])},
            matrices={name: arrays.get(name) for name in ("scores", *names[2:])},
            relevant=arrays["relevant"],
            ids=(arrays.get("query_ids"), arrays.get("target_ids")),
            terms=Terms(bool(said.get("allow_overlap", False)), ignore_self=experiment.task == "self-retrieval"),
        ).trial(reverse=direction == "reverse")


@contextmanager
def _told(experiment: Experiment, bank: str | None, direction: str) -> Iterator[None]:
    """Errors in the words of the file, with the bank and the direction that they came up in."""
    try:
        yield
    except InputError as error:
        its = experiment.directions
        way = its[-1] if direction == "reverse" else its[0]
        where = "" if bank is None else f"the bank {bank}, {way}: "
        raise InputError(f"{experiment.path}: {where}{in_file(str(error), bank)}") from error


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


def scores_of(experiment: Experiment) -> Bank:
    """The scores of the test set, in blocks."""
    test, said = experiment.test, experiment.settings
    reader = Reader(said.get("metric", "cosine"), bool(said.get("normalize", False)), tensors=False)
    if not experiment.vectors:
        return reader.matrix(reader.scores(test["scores"], "test.scores"))
    targets = reader.vectors(test["targets"], "test.targets")
    return reader.products(reader.vectors(test.get("queries", test["targets"]), "test.queries"), targets)


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


def _test(experiment: Experiment, plan: FloatArray | None) -> dict[str, Any]:
    test = experiment.test
    arrays = {name: test[name] for name in ("queries", "targets", "scores", "query_ids", "target_ids") if name in test}
    if experiment.task == "self-retrieval" and experiment.vectors:
        arrays["queries"] = arrays.get("queries", test["targets"])
    relevant = _relevant(experiment, arrays)
    if plan is None:
        return arrays | {"relevant": relevant}
    named = {name: arrays[name] for name in ("query_ids", "target_ids") if name in arrays}
    return named | {"scores": plan, "relevant": relevant}


def _relevant(experiment: Experiment, arrays: dict[str, Any]) -> Any:
    """What the file says is right: those of the same label, or those it names; otherwise query i and target i."""
    test = experiment.test
    if "labels" in test:
        return relevance_from_labels(test["labels"], test.get("target_labels", test["labels"]))
    said = test.get("relevant", "aligned")
    if said != "aligned":
        return said
    first, second = ("queries", "targets") if experiment.vectors else ("scores", "scores")
    rows = open_rows(arrays[first], name=f"test.{first}").shape[0]
    columns = open_rows(arrays[second], name=f"test.{second}").shape[0 if experiment.vectors else 1]
    if rows != columns:
        raise InputError(
            f"{experiment.path}: {rows:,} queries and {columns:,} targets are not aligned; name test.relevant, a file "
            f"that says which targets are right."
        )
    return np.arange(rows)


def bank_files(experiment: Experiment, name: str) -> dict[str, Any]:
    """The files of a bank, as evaluate names them."""
    parts = {part: path for part, path in experiment.banks[name].items() if part != CAPTIONS}
    if experiment.vectors:
        return {f"{'query' if part == 'queries' else 'target'}_bank": parts[part] for part in parts}
    return {OF_BANKS[part]: path for part, path in parts.items()}


def ids_of(experiment: Experiment, *, reverse: bool = False) -> tuple[list[str], list[str]]:
    """The ids of queries and targets: the file's, the arrays' own, or row numbers; in reverse they change places."""
    test = experiment.test
    found = []
    for side, axis in (("queries", 0), ("targets", 1)):
        named = test.get("query_ids" if side == "queries" else "target_ids")
        source = test["scores"] if not experiment.vectors else test.get(side, test["targets"])
        rows = open_rows(source, name=f"test.{side}")
        if named is not None:
            found.append(list(read_ids(named)))
        elif experiment.vectors and rows.ids is not None:
            found.append(list(rows.ids))
        else:
            found.append([str(each) for each in range(rows.shape[0 if experiment.vectors else axis])])
    return (found[1], found[0]) if reverse else (found[0], found[1])


def relevance_of(experiment: Experiment, *, reverse: bool = False) -> Relevance:
    """What is right for which query."""
    queries, targets = ids_of(experiment)
    said = _test(experiment, None)["relevant"]
    sizes = {"queries": len(queries), "targets": len(targets)}
    found = read_relevance(said, **sizes, query_ids=tuple(queries), target_ids=tuple(targets), allow_empty=True)
    return found.reverse() if reverse else found
