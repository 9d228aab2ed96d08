"""A bank in numbers: its size, how much of the test is in it, and how far it lies from queries and targets."""

from __future__ import annotations

import numpy as np

from unhub.analysis.material import TEST
from unhub.analysis.model import BankFacts, Range
from unhub.analysis.whole import Whole
from unhub.foundation.optional import installed
from unhub.metrics import EMD, BankPrecondition, bank_precondition, bank_precondition_from_scores, emd, emd_from_scores

SAMPLE, ROUNDS = 500, 5
"""points of each set and how often they are drawn: a second for each distance"""
TO_QUERIES, TO_TARGETS, TO_BANK = (
    "its queries to the test queries",
    "its queries to the targets",
    "its queries to its own targets",
)
TO_BOTH = "its queries to both kinds of targets together"
NO_POT = "The distances need the package POT; install it with: pip install 'unhub[ot]'"


def bank_facts(whole: Whole) -> BankFacts:
    """The facts of the bank that is shown."""
    given, bank = whole.given, whole.bank
    own = bank.name == TEST
    count = given.relevance.queries if own else bank.size
    others = len(bank.targets) if bank.targets is not None else 0 if bank.cross is None else bank.cross.shape[1]
    notes: list[str] = []
    distances: dict[str, Range] = {}
    nearer = None
    if installed("ot"):
        measured, precondition = _distances(whole)
        distances = {name: Range(each.value, each.low, each.high) for name, each in measured.items()}
        if any(not each.exact for each in measured.values()):
            notes.append(
                f"Distances are means over {ROUNDS} draws of {SAMPLE:,} points from each set, with the 95 % interval "
                f"of that mean; drawn points lie a little farther apart than whole sets."
            )
        if precondition is not None:
            nearer = precondition.holds
            notes.append(_told(precondition))
    else:
        notes.append(NO_POT)
    overlap = count if own else bank.shared
    return BankFacts(bank.name, count, others, overlap, distances, notes, own or bank.shared > 0, nearer)


def _distances(whole: Whole) -> tuple[dict[str, EMD], BankPrecondition | None]:
    given, bank = whole.given, whole.bank
    how = {"sample": SAMPLE, "rounds": ROUNDS, "seed": given.seed}
    if bank.scores is not None:
        if bank.cross is None:
            return {TO_TARGETS: emd_from_scores(bank.scores, **how)}, None
        found = bank_precondition_from_scores(bank.cross, bank.scores, **how)
        return _three(found), found
    if given.queries is None or given.targets is None:
        assert given.scores is not None
        return {TO_TARGETS: emd_from_scores(given.scores, **how)}, None
    if bank.queries is None:
        return {TO_TARGETS: emd(given.queries, given.targets, **how)}, None
    near = {TO_QUERIES: emd(bank.queries, given.queries, **how)}
    if bank.targets is None or not len(bank.targets):
        return near | {TO_TARGETS: emd(bank.queries, given.targets, **how)}, None
    found = bank_precondition(np.asarray(bank.queries), bank.targets, given.targets, **how)
    return near | _three(found), found


def _three(found: BankPrecondition) -> dict[str, EMD]:
    return {TO_TARGETS: found.to_targets, TO_BANK: found.to_target_bank, TO_BOTH: found.to_both}


def _told(found: BankPrecondition) -> str:
    """Proposition 2 in a sentence."""
    told = (
        "Its targets lie nearer to its queries than the gallery does, so that adding them can be expected to help "
        "(the precondition of Proposition 2)"
        if found.holds
        else "Its targets lie farther from its queries than the gallery does, so that Proposition 2 does not say that "
        "adding them helps"
    )
    return f"{told}{'' if found.certain else ', though sampling leaves some doubt'}."
