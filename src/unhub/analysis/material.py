"""What can be explored: the scores of a test set in memory, who everybody is, and the banks to learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from unhub.core.bias import Bias
from unhub.dataset import Dataset, Items
from unhub.dataset import Task as Trial
from unhub.dataset.sources import Bank
from unhub.foundation.types import FloatArray, IntArray
from unhub.methods import Method
from unhub.metrics import Relevance

TEST = "test queries"
"""the bank of whoever has none: the test queries themselves"""
SAVED = "saved"
"""the method of a correction as it was fitted"""
UNSEEN = (
    "The bank that this correction was fitted on is not here, so that it is not known whether test queries were in it."
)


@dataclass(frozen=True, eq=False)
class Learnt:
    """A bank: scores of its queries with the targets, with its own targets, and of those with the targets."""

    name: str
    size: int
    """queries of the whole bank"""
    rows: IntArray
    """which of them are here"""
    names: Sequence[str] | None
    scores: FloatArray | None
    """(bank, gallery); None for the test queries, whose scores these are"""
    cross: FloatArray | None = None
    target_scores: FloatArray | None = None
    vectors: FloatArray | None = None
    target_vectors: FloatArray | None = None
    whole: FloatArray | None = None
    """vectors of all of its queries, where it has vectors"""
    shared: int = 0
    """test queries that are in it"""
    weight: FloatArray | None = None
    """of each query of the whole bank, where they do not count the same"""
    targets_said: str | None = None
    """which of its targets are here, where not all are"""

    @property
    def transductive(self) -> bool:
        """Whether it is, or has some of, the test queries."""
        return self.scores is None or self.shared > 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of it: that a part of it is learnt from."""
        said = [f"{len(self.rows):,} of {self.size:,} queries"] if len(self.rows) < self.size else []
        said += [self.targets_said] if self.targets_said else []
        return (f"Of the bank {self.name}, {' and '.join(said)} are learnt from.",) if said else ()

    def name_of(self, row: int) -> str:
        """What a query of the whole bank says, or its number."""
        return f"bank query {row}" if self.names is None else self.names[row]


@dataclass(frozen=True, eq=False)
class Vectors:
    """Embeddings of the queries and targets that are here."""

    queries: FloatArray
    targets: FloatArray


@dataclass(frozen=True, eq=False)
class Material:
    """One direction of a test set, as much of it as can be ranked again in a moment."""

    direction: str
    scores: FloatArray
    """(query, gallery) float32"""
    relevance: Relevance
    judged: bool
    """whether it is known what is right"""
    asked: int
    """queries of the whole test set"""
    queries: Items
    targets: Items
    query_ids: Sequence[str]
    target_ids: Sequence[str]
    banks: Mapping[str, Learnt]
    method: Callable[[str, bool], Method]
    """a method by name as it is used here, and whether a bank of other queries is there"""
    noun: str = "targets"
    ties: str = "average"
    ignore_self: bool = False
    seed: int = 0
    notes: tuple[str, ...] = ()
    """what a reader must know: that this is a sample, and of what"""
    vectors: Vectors | None = None
    fitted: Bias | None = None
    """the bias of a correction, strength not included"""
    scaled: bool = True
    """whether vectors have length one, so that one of somebody's own words is to have it too"""
    fitted_on: str | None = None
    """the bank that it was fitted on, where that is here"""
    media_folder: Path | None = None

    def trial(self, bank: str) -> Trial:
        """The trial of one bank, all in memory."""
        learnt = self.banks[bank]
        parts = Bank(
            scores=learnt.scores,
            cross_scores=learnt.cross,
            target_scores=learnt.target_scores,
            weights=learnt.weight,
        )
        return Dataset(
            scores=self.scores,
            relevant=self.relevance,
            banks={bank: parts},
            allow_overlap=True,
            ignore_self=self.ignore_self,
            allow_empty=True,
        ).task("forward", bank)


class Subject(Protocol):
    """Something that can be explored: an experiment, or a correction with queries to try it on."""

    @property
    def title(self) -> str:
        """What it is called."""

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions it can be asked in."""

    def material(self, direction: str) -> Material:
        """One direction of it, opened at the first call."""

    def command(self, direction: str, bank: str, method: Method, *, saved: bool = False) -> str:
        """The command that gives the numbers of a view again; saved: those of a correction as it is."""
