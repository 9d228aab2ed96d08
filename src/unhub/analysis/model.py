"""The plain data that a report and the page show: values only, nothing that knows how it was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["use", "upper bound", "unclear", "do not use", "unknown"]
"""an upper bound helps, but had the test queries in advance"""


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
class Verdict:
    """Whether to use a correction, and why, in one sentence."""

    kind: Kind
    sentence: str


@dataclass(frozen=True)
class Range:
    """A value with the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """A line of the results table: one method, its values by metric, and what it gains on no correction."""

    label: str
    name: str
    """as people write it: DBSN"""
    tau: float | None
    transductive: bool
    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    gain: Range | None
    better: int
    same: int
    worse: int
    """queries that rank their answer higher, as high, and lower than without a correction"""
    settings: dict[str, Any] = field(default_factory=dict)
    status: str | None = None
    seconds: float = 0.0
    bank: str = ""
    """what it learnt from"""


@dataclass(frozen=True)
class Reach:
    """A query that has a target among its first, and whether that is right; no place: farther than is kept."""

    query: int
    name: str
    right: bool
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Contribution:
    """A bank query and its share of what pushes a target down; no share where a method has none to give."""

    row: int
    name: str
    score: float
    share: float | None


@dataclass(frozen=True)
class Instead:
    """A target that is first now where another was, for so many queries; right for so many of them."""

    target: int
    name: str
    count: int
    right: int


@dataclass(frozen=True)
class HubCard:
    """One target: which queries reach it before and after, who pushes it down, and what ranks first instead."""

    target: int
    id: str
    name: str
    media: str | None
    bias: float | None
    count_before: int
    count_after: int
    right_before: int
    right_after: int
    reached: list[Reach]
    """the first of them; the counts are of all"""
    reached_total: int
    bank: str
    contributions: list[Contribution]
    instead: list[Instead]


@dataclass(frozen=True)
class Answer:
    """One target in the list of a query."""

    target: int
    name: str
    media: str | None
    score: float | None
    """None where a method gives no number that compares"""
    right: bool
    before: int | None
    """its place without a correction, where that is among those shown"""


@dataclass(frozen=True)
class Column:
    """What one method answers to a query; rank is that of the best right target, where one is known."""

    label: str
    name: str
    tau: float | None
    rank: float | None
    answers: list[Answer]


@dataclass(frozen=True)
class Comparison:
    """A query and what methods answer, side by side."""

    query: int | None
    text: str
    media: str | None
    right: list[str]
    columns: list[Column]


@dataclass(frozen=True)
class Change:
    """A query whose answer moved: its rank before and after, and what came first."""

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
    """A bank: how large it is, how much of the test is in it, and how far it lies from queries and targets."""

    name: str
    queries: int
    targets: int
    overlap: int
    distances: dict[str, Range]
    """earth mover's distances by what they are between"""
    notes: list[str]
    transductive: bool = False
    nearer: bool | None = None
    """whether its targets lie nearer to its queries than the gallery does, as Proposition 2 asks; None: not known"""


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
    """names of the places, where these are no numbers"""
    base: float | None
    bank: str = ""
    transductive: bool = False
    rounds: int = 1
    """how often each place was drawn anew; with more than one, low and high are the spread of the rounds"""


@dataclass(frozen=True)
class Card:
    """Where it all comes from: settings, files with their hashes, seed, versions, warnings, the exact command."""

    settings: dict[str, Any]
    files: dict[str, str]
    seed: int
    versions: dict[str, str]
    warnings: list[str]
    command: str
