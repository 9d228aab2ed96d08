"""A dataset evaluated whole, in one direction with one bank: where the numbers of a report come from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from unhub.analysis.session import SAVED, Session
from unhub.api.evaluate import UNSEEN
from unhub.api.evaluation import Evaluation, MethodResult
from unhub.api.fitted_vectors import saved_bias
from unhub.api.ranking_pair import RankingPair
from unhub.dataset import TEST_QUERIES, Items, Task
from unhub.experiments.hashes import hash_of, hashes
from unhub.experiments.run import AFTER, ONE_BANK, RANK, RETRIEVAL, SKEWNESS, TWO_BANKS
from unhub.foundation.errors import InputError
from unhub.foundation.types import Progress
from unhub.io.address import SEPARATOR
from unhub.methods import Method, method, title_of

LONGEST_NAME = 300
"""letters of an item's name in a report"""
CHEAP = 20_000_000
"""test scores up to which the test queries are tried as the bank too, to show what is possible"""


@dataclass(frozen=True, eq=False)
class EvaluatedDataset:
    """One direction with one bank: every method, and the one that is shown beside no correction."""

    session: Session
    direction: str
    way: str
    bank: str
    evaluation: Evaluation
    label: str
    """of the row that is shown"""
    upper: Evaluation | None = None
    """with the test queries as the bank: an upper bound"""
    saved: bool = False
    """whether the row of the label is a correction as it was saved"""
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    @property
    def before(self) -> MethodResult:
        """No correction."""
        return self.evaluation["none"]

    @property
    def after(self) -> MethodResult:
        """The correction that is shown."""
        return self.evaluation[self.label]

    @property
    def shared(self) -> float | None:
        """The share of the test queries in the bank; None if they are the bank."""
        if self.bank == TEST_QUERIES:
            return None if self.after.transductive else 0.0
        return self.session.whole.overlap(self.bank, self.way) / max(1, self.pair.relevance.queries)

    @cached_property
    def task(self) -> Task:
        """What the evaluation ran on."""
        return self.session.whole.task(self.way, None if self.bank == TEST_QUERIES else self.bank)

    @cached_property
    def pair(self) -> RankingPair:
        """Both rankings with relevance and items; long names are cut."""
        relevance = self.session.whole.relevance(self.way)
        assert relevance is not None
        sides = [replace(each, names=[_cut(name) for name in each.names]) for each in self.items]
        return RankingPair(self.before, self.after, relevance, *sides)

    @property
    def items(self) -> tuple[Items, Items]:
        """Queries and targets."""
        return self.session.data.items(self.way)


def evaluate_dataset(
    session: Session,
    direction: str | None = None,
    bank: str | None = None,
    label: str | None = None,
    methods: Sequence[Method] | None = None,
    progress: Progress | None = None,
) -> EvaluatedDataset:
    """The evaluation behind a report; the first direction and bank where none is named.

    label: the method to show. methods: in the table of a correction, in place of the usual ones.
    """
    direction = direction or session.directions[0]
    way, banks = session.way(direction), session.banks(direction)
    bank = banks[0] if bank is None else bank
    if bank not in banks:
        raise InputError("bank", f"is {bank!r}", f"there are {', '.join(banks)}")
    test = session.whole.task(way).scores if bank != TEST_QUERIES else None
    cheap = test is not None and test.shape[0] * test.shape[1] <= CHEAP
    name = None if bank == TEST_QUERIES else bank
    if session.data.correction is not None:
        return _of_correction(session, direction, bank, label, methods, progress, cheap=cheap)
    run, whole = replace(session.run, progress=progress), None if session.judged else session.whole
    evaluation = run.evaluation(way, name, label, whole)
    upper = run.evaluation(way, None, data=whole) if cheap else None
    data = session.data
    settings = {"protocol": session.preset.name, "task": data.task_type, "direction": direction, "bank": bank}
    settings |= {"ties": evaluation.settings["ties"]} | dict(data.settings)
    files = ({} if data.path is None else {"experiment file": hash_of(data.path)}) | hashes(data)
    shown, notes = _label(evaluation, label), _notes(evaluation, upper)
    return EvaluatedDataset(session, direction, way, bank, evaluation, shown, upper, False, notes, settings, files)


def _of_correction(
    session: Session,
    direction: str,
    bank: str,
    label: str | None,
    methods: Sequence[Method] | None,
    progress: Progress | None,
    *,
    cheap: bool,
) -> EvaluatedDataset:
    """A correction as it was saved, beside every other method that its bank serves."""
    data, its = session.data, session.data.correction
    own: Method = its.method
    wanted = (*RETRIEVAL, *SKEWNESS, RANK) if session.judged else (*SKEWNESS[:-1], "antihub@10", "gini@10")

    def usual(name: str) -> list[Method]:
        two = name != TEST_QUERIES and data.banks[name].has_targets
        return [session.method(each, direction, name) for each in (*ONE_BANK, *(TWO_BANKS if two else ()))]

    def evaluation_of(chosen: Sequence[Method], name: str, *, saved: bool) -> Evaluation:
        others = [each for each in chosen if each.name != "none" and not (saved and each.name == own.name)]
        return session.run.evaluate(
            [method("none"), *([own] if saved else []), *others],
            "forward",
            tuple(dict.fromkeys(wanted)),
            bank=None if name == TEST_QUERIES else name,
            data=session.whole,
            known={own.name: saved_bias(its)} if saved else None,
            progress=progress,
        )

    evaluation = evaluation_of(methods or usual(bank), bank, saved=True)
    notes: tuple[str, ...] = ()
    if bank == TEST_QUERIES and not data.asks_bank:  # its own bank is another one
        row = replace(evaluation[own.name], transductive=False)
        evaluation = replace(evaluation, rows={**evaluation.rows, own.name: row})
        notes = (UNSEEN,)
    shown = _label(evaluation, own.name if label in (None, SAVED) else label)
    upper = evaluation_of(usual(TEST_QUERIES), TEST_QUERIES, saved=False) if cheap and not data.asks_bank else None
    settings = {
        "metric": its.metric,
        "normalize": its.normalize,
        "bank": bank,
        "queries of its bank": its.bank_size,
        "gallery fingerprint": its.fingerprint,
    }
    named = {"correction": session.source} | {
        key.removeprefix("test."): at for key, at in data.files().items() if not key.endswith(".weights")
    }
    paths = {part: Path(os.path.expanduser(at.partition(SEPARATOR)[0])) for part, at in named.items() if at}
    files = {part: hash_of(path) for part, path in paths.items() if path.exists()}
    notes = (*its.warnings, *_notes(evaluation, upper), *notes)
    saved = shown == own.name
    return EvaluatedDataset(
        session, direction, "forward", bank, evaluation, shown, upper, saved, notes, settings, files
    )


def subtitle(evaluated: EvaluatedDataset) -> str:
    """What a report is about, in one line."""
    correction = evaluated.session.data.correction
    if correction is not None:
        return f"A correction by {title_of(correction.method.name)}, of {correction.bias.size:,} targets."
    test = evaluated.bank == TEST_QUERIES
    source = "the test queries as the bank" if test else f"the bank {evaluated.bank}"
    return f"Direction {evaluated.direction}, with {source}."


def _label(evaluation: Evaluation, name: str | None) -> str:
    """The row of that method, or of the first usual one."""
    rows = [label for label in evaluation if label != "none"]
    if name is None:
        return next((each for each in AFTER if each in rows), rows[-1])
    if name not in rows:
        raise InputError("method", f"is {name!r}", f"with this bank there are {', '.join(rows)}")
    return name


def _notes(*evaluations: Evaluation | None) -> tuple[str, ...]:
    """The notes of these evaluations, each sentence once."""
    return tuple(dict.fromkeys(note for each in evaluations if each is not None for note in each.notes))


def _cut(name: str) -> str:
    """A name of at most a few lines: descriptions of products can fill pages."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 2].rstrip()} …"
