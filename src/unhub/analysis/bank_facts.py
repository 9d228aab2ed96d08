"""A bank in numbers: its size, how many test queries are in it, and its distances to queries and targets."""

from __future__ import annotations

import numpy as np

from unhub.analysis.evaluated import EvaluatedDataset
from unhub.analysis.model import BankFacts, Estimate
from unhub.dataset import TEST_QUERIES, Task
from unhub.foundation.optional import installed
from unhub.metrics import EMD, BankPrecondition, bank_precondition, bank_precondition_from_scores, emd, emd_from_scores
from unhub.scores import whole_matrix

SAMPLE, ROUNDS = 500, 5
"""points of each set and how often they are drawn: a second for each distance"""
TO_QUERIES, TO_TARGETS, TO_BANK = (
    "its queries to the test queries",
    "its queries to the targets",
    "its queries to its own targets",
)
TO_BOTH = "its queries to both kinds of targets together"
NO_POT = "Distances need the package POT; install it with: pip install 'unhub[ot]'"


def bank_facts(evaluated: EvaluatedDataset) -> BankFacts:
    """The facts of the bank that is shown."""
    task, name = evaluated.task, evaluated.bank
    test = name == TEST_QUERIES
    count = task.banks.queries.shape[0]
    targets = 0 if task.banks.cross is None else task.banks.cross.shape[1]
    notes: list[str] = []
    distances: dict[str, Estimate] = {}
    nearer = None
    if installed("ot"):
        measured, precondition = _distances(task, test=test, seed=evaluated.session.seed)
        distances = {name: Estimate(each.value, each.low, each.high) for name, each in measured.items()}
        if any(not each.exact for each in measured.values()):
            notes.append(
                f"Distances are means over {ROUNDS} draws of {SAMPLE:,} points from each set, with a 95% interval; "
                f"drawn points are a little farther apart than whole sets."
            )
        if precondition is not None:
            nearer = precondition.holds
            notes.append(_sentence(precondition))
    else:
        notes.append(NO_POT)
    overlap = evaluated.session.whole.overlap(name, evaluated.way)
    return BankFacts(name, count, targets, overlap, distances, notes, overlap > 0, nearer)


def _distances(task: Task, *, test: bool, seed: int) -> tuple[dict[str, EMD], BankPrecondition | None]:
    how = {"sample": SAMPLE, "rounds": ROUNDS, "seed": seed}
    if task.targets is None or task.query_bank is None:
        scores = whole_matrix(task.banks.queries)
        if task.banks.cross is None:
            return {TO_TARGETS: emd_from_scores(scores, **how)}, None
        both = bank_precondition_from_scores(whole_matrix(task.banks.cross), scores, **how)
        return _three(both), both
    bank, targets = (np.asarray(each[:]) for each in (task.query_bank, task.targets))
    if test:
        return {TO_TARGETS: emd(bank, targets, **how)}, None
    assert task.queries is not None
    near = {TO_QUERIES: emd(bank, np.asarray(task.queries[:]), **how)}
    if task.target_bank is None or not len(task.target_bank):
        return near | {TO_TARGETS: emd(bank, targets, **how)}, None
    both = bank_precondition(bank, np.asarray(task.target_bank[:]), targets, **how)
    return near | _three(both), both


def _three(both: BankPrecondition) -> dict[str, EMD]:
    return {TO_TARGETS: both.to_targets, TO_BANK: both.to_target_bank, TO_BOTH: both.to_both}


def _sentence(precondition: BankPrecondition) -> str:
    """Proposition 2 in a sentence."""
    sentence = (
        "Its targets are nearer to its queries than the gallery is, so adding them should help (Proposition 2)"
        if precondition.holds
        else "Its targets are farther from its queries than the gallery is, so Proposition 2 does not promise that "
        "adding them helps"
    )
    return f"{sentence}{'' if precondition.certain else ', though sampling leaves some doubt'}."
