"""All of a test set ranked by every method that a bank gives: what a report's numbers come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from unhub.analysis.given import Given, GivenBank
from unhub.analysis.material import TEST
from unhub.analysis.reading import Reading
from unhub.api.evaluation import Evaluation, MethodResult
from unhub.dataset import Items
from unhub.dataset import Task as Trial
from unhub.experiments.views import AFTER
from unhub.foundation.errors import InputError

LONGEST = 300
"""letters of a name in a report"""
CHEAP = 20_000_000
"""test scores up to which the test queries are tried as the bank too, to show what is possible"""


@dataclass(frozen=True, eq=False)
class Whole:
    """One direction with one bank, whole."""

    given: Given
    bank: GivenBank
    evaluation: Evaluation
    label: str
    """of the row that stands beside no correction"""
    trial: Callable[[], Trial]
    """what the evaluation worked on, opened anew"""
    upper: Evaluation | None = None
    """the test queries as the bank: what no running system has"""
    saved: bool = False
    """whether the row of the label is a correction as it was saved"""
    subtitle: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def before(self) -> MethodResult:
        """No correction."""
        return self.evaluation["none"]

    @property
    def after(self) -> MethodResult:
        """The correction that stands beside it."""
        return self.evaluation[self.label]

    @property
    def shared(self) -> float | None:
        """The share of the test queries that the correction had in its bank; None if they were the bank."""
        if self.bank.name == TEST and self.after.transductive:
            return None
        return self.bank.shared / max(1, self.given.relevance.queries)

    @cached_property
    def reading(self) -> Reading:
        """Both rankings, and who everybody is."""
        its = self.given
        sides = [Items(each.ids, [_cut(name) for name in each.names], each.media) for each in its.sides]
        return Reading(self.before, self.after, its.relevance, sides[0], sides[1], [_cut(each) for each in its.ids[1]])


def _cut(name: str) -> str:
    """A name that is not longer than a few lines: descriptions of products can fill pages."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 2].rstrip()} …"


def bank_of(given: Given, name: str | None) -> GivenBank:
    """The bank of that name, or the first one."""
    if name is None:
        return given.banks[0]
    for each in given.banks:
        if each.name == name:
            return each
    raise InputError(f"there is no bank {name!r}; there are {', '.join(each.name for each in given.banks)}.")


def label_of(evaluation: Evaluation, name: str | None, usual: Sequence[str] = AFTER) -> str:
    """The row of that method, or of the first usual one that is there."""
    rows = [label for label in evaluation if label != "none"]
    if name is None:
        return next((each for each in usual if each in rows), rows[-1])
    if name not in rows:
        raise InputError(f"there is no method {name!r} with this bank; there are {', '.join(rows)}.")
    return name


def worth_trying(given: Given, bank: GivenBank) -> bool:
    """Whether the test queries are tried as the bank beside this one."""
    return bank.name != TEST and given.relevance.queries * given.relevance.gallery <= CHEAP


def notes_of(*evaluations: Evaluation | None) -> list[str]:
    """The notes of these evaluations, each sentence once."""
    return list(dict.fromkeys(note for each in evaluations if each is not None for note in each.notes))
