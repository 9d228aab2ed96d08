"""What is wrong with a bank, as one sentence each: what, how many, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from unhub.core.near_copies import shared_rows
from unhub.core.same_space import shared_space
from unhub.core.scripts import script_shares, shared_script
from unhub.dataset.galleries import some_rows
from unhub.dataset.task import Task
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.foundation.wording import argument, counted, setting
from unhub.io import Rows
from unhub.methods.strength import FEWEST

Kind = Literal["targets", "size", "duplicates", "lengths", "model", "language"]

SAMPLE = 2048
"""rows that are looked at, evenly spaced: enough to know a share within two percent"""
GALLERY_SHARE = 0.5
"""share of targets among the bank's vectors from which the bank is the gallery itself"""
SOME_TARGETS = 0.05
"""share of targets among the bank's vectors that is worth a sentence; 37 pairs of real sets have none"""
MANY_COPIES = 0.1
"""share of the bank that repeats another query, likewise; 37 real sets have .2% at most"""
LENGTH_RATIO = 4.0
"""between the median lengths of both sides; trained sides of an inner product differ by less than two"""
PARTLY_UNIT = 0.02
"""share of vectors of exactly unit length beside others: what normalising a part of a file leaves"""
SAME_SCRIPT, FEWEST_TEXTS = 0.2, 20
"""share of letters in the same scripts below which a bank is in another one, and texts without which nobody can say;
trigrams tell languages of one script no better than subjects: English titles and English emoji names agree by .36"""
COST = "such a bank cost 12 points of R@1 in a study and harmed 81% of its sets"
"""research on 29 sets, the gallery as its own bank at strength 1"""
INSTEAD = (
    f"give past queries or about 100 typed examples, or pass {setting('ignore_self', True)} to search items by items"
)


@dataclass(frozen=True)
class Finding:
    """One thing about a bank that its owner should know; the sentence says what to do."""

    kind: Kind
    sentence: str


def targets_in_bank(task: Task) -> tuple[int, int]:
    """How many of the bank's vectors are targets, up to rounding, and of how many; some of a large bank are taken."""
    bank, targets = task.query_bank, task.targets
    if bank is None or targets is None or task.masked or task.own_bank:
        return 0, 0
    rows = some_rows(bank, _spaced(len(bank)))
    return len(shared_rows(rows, targets, unit=task.unit)), len(rows)


def own_gallery(task: Task, *, judged: bool) -> tuple[Finding, ...]:
    """The sentence about targets in the bank; an error where they are most of it.

    judged: whether the strength is "auto". Who names a strength wants the bank as it is, and reads a note.
    """
    if judged and not task.masked:
        task = task.deduplicated  # a title that many people type is one query
    count, looked_at = targets_in_bank(task)
    if count < max(1, SOME_TARGETS * looked_at):
        return ()
    assert task.query_bank is not None
    name, size = argument(task.query_bank.name), len(task.query_bank)
    share = (
        f"{count:,} of {'' if looked_at == size else 'a sample of '}{looked_at:,} vectors are targets, up to rounding"
    )
    if count < GALLERY_SHARE * looked_at:
        sentence = f"in {name} {share}; a target says nothing of what people ask, so take them out."
        return (Finding("targets", sentence),)
    came = f"is the gallery itself: {share}, and {COST}"
    if judged:
        kept = f"a strength that is given, such as {setting('strength', 1)}, takes it as it is"
        raise InputError(task.query_bank.name, came, f"{INSTEAD}; {kept}")
    return (Finding("targets", f"{name} {came}; {INSTEAD}."),)


def bank_findings(task: Task) -> tuple[Finding, ...]:
    """What looks wrong with the vectors of a bank beside those of the gallery."""
    bank, targets = task.query_bank, task.targets
    if bank is None or targets is None or not len(bank) or task.masked or task.own_bank:
        return ()
    left, right = (_sample(rows) for rows in (bank, targets))
    name = argument(bank.name)
    return (*_lengths(left, right, name, unit=task.unit), *_model(left, right, name))


def size_findings(task: Task) -> tuple[Finding, ...]:
    """Whether there are too few different queries in the bank to be judged by its own."""
    count = task.banks.queries.shape[0] if task.own_bank else task.deduplicated.banks.queries.shape[0]
    if task.own_bank or count >= FEWEST:
        return ()
    few = f"the bank has {counted(count, 'different query')}, and fewer than {FEWEST} cannot judge themselves"
    return (Finding("size", f"{few}; collect about 100 or more."),)


def duplicate_findings(task: Task) -> tuple[Finding, ...]:
    """How much of the bank repeats another query; task: with its copies."""
    if task.own_bank:
        return ()
    distinct = task.deduplicated
    if distinct.duplicate_share < MANY_COPIES:
        return ()
    size, left = task.banks.queries.shape[0], distinct.banks.queries.shape[0]
    weighed = f"{setting('duplicates', 'weigh')} counts them as often as they come"
    sentence = (
        f"{size - left:,} of {size:,} bank queries repeat another one, exactly or up to rounding; with "
        f"{setting('strength', 'auto')} each counts once, and {weighed}."
    )
    return (Finding("duplicates", sentence),)


def language_findings(bank: Sequence[str], others: Sequence[str], what: str) -> tuple[Finding, ...]:
    """Whether the bank's texts are in another script than others; what: the others are called in a sentence."""
    few = min(len(bank), len(others)) < FEWEST_TEXTS
    if few or shared_script(bank, others) >= SAME_SCRIPT:
        return ()
    own, there = (
        max(shares, key=lambda script: shares[script]).title() for shares in map(script_shares, (bank, others))
    )
    sentence = (
        f"the {len(bank):,} texts of the bank are in another script ({own}) than the {len(others):,} {what} ({there}); "
        f"a bank in another language says little of yours, so take queries in the language that people use."
    )
    return (Finding("language", sentence),)


def _lengths(bank: FloatArray, targets: FloatArray, name: str, *, unit: bool) -> Iterator[Finding]:
    """Lengths that do not fit together; they matter only where vectors are used as they are."""
    own, others = (np.linalg.norm(rows, axis=1) for rows in (bank, targets))
    own, others = own[own > 0], others[others > 0]
    if unit or not own.size or not others.size:
        return
    units = np.abs(own - 1) < 1e-3
    advice = f"normalise all of them, or pass {setting('normalize', True)}"
    if PARTLY_UNIT <= units.mean() <= 1 - PARTLY_UNIT and np.median(np.abs(own[~units] - 1)) > 0.1:
        yield Finding(
            "lengths",
            f"{int(units.sum()):,} of {len(own):,} vectors in {name} are of unit length and the others are not (up to "
            f"{own.max():.3g}), as where a part was normalised; {advice}.",
        )
        return
    ratio = float(np.median(own) / np.median(others))
    if not 1 / LENGTH_RATIO < ratio < LENGTH_RATIO:
        yield Finding(
            "lengths",
            f"vectors in {name} are {np.median(own):.3g} long and targets {np.median(others):.3g}, in the median, as "
            f"where one side was normalised or scaled; {advice}.",
        )


def _model(bank: FloatArray, targets: FloatArray, name: str) -> Iterator[Finding]:
    if len(np.unique(bank, axis=0)) < FEWEST:
        return
    seen = shared_space(bank, targets)
    if seen is not None and seen.unrelated:
        yield Finding(
            "model",
            f"the {len(bank):,} vectors of {name} that were looked at have no more in common with the targets than "
            f"random directions ({seen.energy:.2f} times chance; one model gives at least 1.6), as where another model "
            f"made them; encode both with the same model.",
        )


def _sample(rows: Rows) -> FloatArray:
    sample: FloatArray = np.asarray(some_rows(rows, _spaced(len(rows)))[0 : min(len(rows), SAMPLE)], dtype=np.float32)
    return sample


def _spaced(size: int) -> IntArray:
    """Evenly spaced rows, at most SAMPLE of them."""
    return np.unique(np.linspace(0, max(0, size - 1), min(size, SAMPLE)).astype(np.int64))
