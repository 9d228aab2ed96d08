"""The plain data of a report: everything that it shows, and nothing that knows how it was found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from unhub.analysis.model import (
    BankFacts,
    Card,
    Change,
    Convergence,
    Headline,
    HubCard,
    Line,
    Sweep,
    Verdict,
)
from unhub.foundation.regular_files import json_safe

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ResultsTable:
    """Methods by metrics; best: for each metric the places of the lines that no other line beats."""

    metrics: list[str]
    lines: list[Line]
    best: dict[str, list[int]]


@dataclass(frozen=True)
class Spread:
    """How unevenly targets are retrieved: so many targets by so many queries, and what is read off that."""

    bars: list[tuple[int, int]]
    """(queries that retrieve a target, how many targets are retrieved by so many)"""
    skewness: float
    never: float
    largest: int
    gini: float


@dataclass(frozen=True)
class Occurrence:
    """The k-occurrence of all targets before and after."""

    k: int
    before: Spread
    after: Spread


@dataclass(frozen=True)
class Lorenz:
    """Which share of the first k places the least retrieved share of the targets has, before and after."""

    k: int
    targets: list[float]
    before: list[float]
    after: list[float]


@dataclass(frozen=True)
class HeatMap:
    """Scores of evenly spaced queries and targets before and after, the targets that are retrieved most first.

    low and high are the ends of the colours.
    """

    rows: list[int]
    columns: list[int]
    before: list[list[float]]
    after: list[list[float]] | None
    low: float
    high: float


@dataclass(frozen=True)
class Examples:
    """Queries that got better and as many that got worse, and how many of each there are in all."""

    better: list[Change]
    worse: list[Change]
    better_total: int
    same_total: int
    worse_total: int
    note: str


@dataclass(frozen=True)
class Story:
    """A report as data."""

    title: str
    subtitle: str
    noun: str
    direction: str
    bank: str
    method: str
    name: str
    """of the method, as people write it"""
    queries: int
    targets: int
    judged: bool
    headline: Headline
    verdict: Verdict
    table: ResultsTable
    occurrences: list[Occurrence]
    lorenz: Lorenz
    heat: HeatMap
    hubs: list[HubCard]
    examples: Examples | None
    bank_facts: BankFacts
    convergence: list[Convergence]
    sweeps: list[Sweep]
    card: Card
    notes: list[str] = field(default_factory=list)
    pictures: dict[str, Path] = field(default_factory=dict)
    """of the queries (q12) and targets (t12) that the story speaks of"""

    def to_dict(self) -> dict[str, Any]:
        """The story as JSON can hold it; a number that is not finite is None, a picture its file's name."""
        plain = asdict(self) | {"pictures": {key: path.name for key, path in self.pictures.items()}}
        return {"schema_version": SCHEMA_VERSION} | {key: json_safe(value) for key, value in plain.items()}
