"""The plain data that report and page show: values only, independent of how they were computed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from unhub.foundation.regular_files import json_safe

SCHEMA_VERSION = 1
Kind = Literal["use", "upper bound", "unclear", "do not use", "refused", "unknown"]
"""an upper bound helps, but had the test queries in advance; what the guard refuses changes nothing"""


@dataclass(frozen=True)
class Headline:
    """How few targets take how many of the first k places, before and after."""

    sentence: str
    k: int
    heads: int
    """how many targets are looked at: the most frequent hundredth"""
    gallery: int
    share_before: float
    share_after: float
    never_before: float
    never_after: float


@dataclass(frozen=True)
class MeasuredEffect:
    """Whether a correction helps, as measured on the test queries, in one sentence."""

    kind: Kind
    sentence: str


@dataclass(frozen=True)
class VerdictCard:
    """The guard's verdict on a correction, from queries that it was not fitted on, as report and page draw it.

    decision: "apply", "apply weaker" or "refuse". strength: that is served; 0 where it is refused. reason: "judged";
    "given" for a strength of one's own; "transductive" where the test queries are the bank. checks: for noise, mismatch
    and popularity, whether it was looked at.
    """

    decision: str
    strength: float
    reason: str
    headline: str
    sentence: str
    summary: str
    """the sentence without headline and evidence"""
    basis: str
    """which queries it was judged by; empty where it was not judged"""
    evidence: list[GuardEvidence]
    checks: dict[str, bool]
    limits: list[float]
    """strengths at which the decision changes"""
    colour: str
    """the CSS class of the decision"""


@dataclass(frozen=True)
class GuardEvidence:
    """What some queries say of the strength: the one they support, and the gain there in nats per query."""

    source: str
    """bank, recent or judged"""
    name: str
    strength: float
    gain: float
    standard_error: float | None
    """None for a single query"""
    queries: int
    left_out: int = 0
    """so many of them, those that gain the most, do not count for the strength"""
    with_all: float | None = None
    """the strength that they support with those; None where none is left out"""
    binding: bool = False
    """whether it decides"""


@dataclass(frozen=True)
class HistoryPoint:
    """One run of ``unhub monitor`` on a correction: what a report draws of a line of its history.

    date: ISO 8601. gain: of the correction on that day's queries, in nats per query, and its standard_error. strength:
    that they support. churn: the share of the best targets that the correction changes. hubs: how many are new. status:
    "fine", "look again" or "refit". sentence: why, and what has changed.
    """

    date: str
    gain: float
    standard_error: float
    strength: float
    churn: float | None = None
    hubs: int | None = None
    status: str = "fine"
    sentence: str = ""


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ResultLine:
    """A line of the results table: one method, its values by metric, and what it gains on no correction."""

    label: str
    name: str
    """its title: DBSN"""
    tau: float | None
    transductive: bool
    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    gain: Estimate | None
    better: int
    same: int
    worse: int
    """queries that rank their answer higher, as high, and lower than with no correction"""
    settings: dict[str, Any] = field(default_factory=dict)
    status: str | None = None
    seconds: float = 0.0
    bank: str = ""
    """the bank it was estimated from"""


@dataclass(frozen=True)
class HubQuery:
    """A query that retrieves a target, and whether that is right; a place is None beyond the top list."""

    query: int
    name: str
    right: bool
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Contribution:
    """A bank query and its share of a target's bias; None for methods without shares."""

    row: int
    name: str
    score: float
    share: float | None


@dataclass(frozen=True)
class Replacement:
    """A target that now ranks first where another one did: for how many queries, and for how many of them right."""

    target: int
    name: str
    count: int
    right: int


@dataclass(frozen=True)
class HubCard:
    """One target: the queries that retrieve it before and after, what pushes it down, and what ranks first instead."""

    target: int
    id: str
    name: str
    media: str | None
    bias: float | None
    count_before: int
    count_after: int
    right_before: int
    right_after: int
    reached: list[HubQuery]
    """the first of them; the counts are of all"""
    reached_total: int
    bank: str
    contributions: list[Contribution]
    instead: list[Replacement]


@dataclass(frozen=True)
class Answer:
    """One target in the list of a query."""

    target: int
    name: str
    media: str | None
    score: float | None
    """None for methods whose scores do not compare"""
    right: bool
    before: int | None
    """its place with no correction, if it is in that list"""


@dataclass(frozen=True)
class Column:
    """The results of one method for a query; rank: of the best relevant target, if any is known."""

    label: str
    name: str
    tau: float | None
    rank: float | None
    answers: list[Answer]


@dataclass(frozen=True)
class Comparison:
    """A query and the results of several methods."""

    query: int | None
    text: str
    media: str | None
    right: list[str]
    columns: list[Column]


@dataclass(frozen=True)
class Change:
    """A query whose rank changed: its rank before and after, and what came first."""

    query: int
    name: str
    rank_before: float
    rank_after: float
    first_before: str
    first_after: str
    right: str
    targets: tuple[int, int, int] = (-1, -1, -1)
    """the rows of these three; -1 where there is none"""


@dataclass(frozen=True)
class BankFacts:
    """A bank: its size, how many test queries are in it, and its distances to queries and targets."""

    name: str
    queries: int
    targets: int
    overlap: int
    distances: dict[str, Estimate]
    """earth mover's distances by what they are between"""
    notes: list[str]
    transductive: bool = False
    nearer: bool | None = None
    """whether its targets are nearer to its queries than the gallery is, as Proposition 2 asks; None: not known"""


@dataclass(frozen=True)
class Convergence:
    """The marginal error of a Sinkhorn method after each round."""

    label: str
    name: str
    errors: list[float]
    tol: float | None


@dataclass(frozen=True)
class SweepLine:
    """One method over the places of a sweep, by R@1."""

    name: str
    at: list[float]
    values: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True)
class Sweep:
    """A sweep that was run: what it goes over, and a line for each method."""

    over: str
    lines: list[SweepLine]
    labels: list[str]
    """names of the places, where they are not numbers"""
    base: float | None
    bank: str = ""
    transductive: bool = False
    rounds: int = 1
    """draws for each place; with more than one, low and high are the spread over draws"""
    strength: str = ""
    """at which strength the corrections were served"""


@dataclass(frozen=True)
class Provenance:
    """Where a report comes from: settings, files with their hashes, seed, versions, warnings, the exact command."""

    settings: dict[str, Any]
    files: dict[str, str]
    seed: int
    versions: dict[str, str]
    warnings: list[str]
    command: str


@dataclass(frozen=True)
class ResultsTable:
    """Methods by metrics; best: for each metric the places of the lines that no other line beats."""

    metrics: list[str]
    lines: list[ResultLine]
    best: dict[str, list[int]]


@dataclass(frozen=True)
class Spread:
    """How unevenly targets are retrieved."""

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
    """The share of the first k places that the least retrieved share of the targets has, before and after."""

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
    """Some queries that got better and as many that got worse, and how many there are of each."""

    better: list[Change]
    worse: list[Change]
    better_total: int
    same_total: int
    worse_total: int
    note: str


@dataclass(frozen=True)
class ReportData:
    """A report as data."""

    title: str
    subtitle: str
    noun: str
    direction: str
    bank: str
    method: str
    name: str
    """the title of the method"""
    queries: int
    targets: int
    judged: bool
    headline: Headline
    verdict: MeasuredEffect
    """measured on the test queries"""
    guard: VerdictCard | None
    """at which strength to serve the correction; None for a method that is no bias"""
    table: ResultsTable
    occurrences: list[Occurrence]
    lorenz: Lorenz
    heat: HeatMap
    hubs: list[HubCard]
    examples: Examples | None
    bank_facts: BankFacts
    convergence: list[Convergence]
    sweeps: list[Sweep]
    card: Provenance
    notes: list[str] = field(default_factory=list)
    history: list[HistoryPoint] = field(default_factory=list)
    """what was monitored of the correction, oldest first"""
    pictures: dict[str, Path] = field(default_factory=dict)
    """of the queries (q12) and targets (t12) in the report"""

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it; a number that is not finite is None, a picture its file's name."""
        plain = asdict(self) | {"pictures": {key: path.name for key, path in self.pictures.items()}}
        return {"schema_version": SCHEMA_VERSION} | {key: json_safe(value) for key, value in plain.items()}
