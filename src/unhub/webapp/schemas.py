"""Requests and responses of the API, besides the values of ``analysis``: choices, lists, items."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from unhub.analysis.changes import Which
from unhub.analysis.model import Change, HistoryPoint
from unhub.analysis.session import DEPTHS, SAVED, DirectionSample, Session, ViewSettings, listed_name, temperature
from unhub.core.parameters import MOST_STRENGTH
from unhub.foundation import VERSION
from unhub.methods import auto_temperature, fill_auto, is_additive

FIRST = (SAVED, "dbsn", "sn")
"""the page opens with the first of these methods that is available"""
OPENING_K = 1
LONGEST_TEXT = 500
"""characters of a typed query"""
MOST_ROWS = 2000
"""rows of a list in one response"""
LONGEST_NAME = 200


@dataclass(frozen=True)
class MethodChoice:
    """A method to choose: its name, and which settings it has."""

    label: str
    name: str
    tau: float | None
    has_tau: bool
    has_strength: bool


@dataclass(frozen=True)
class BankChoice:
    """A bank to choose, and the methods that can use it."""

    name: str
    size: int
    used: int
    """queries of it that the page uses"""
    overlap: int
    transductive: bool
    methods: list[MethodChoice]


@dataclass(frozen=True)
class DirectionChoice:
    """A direction to choose: its queries, targets and banks."""

    name: str
    queries: int
    targets: int
    noun: str
    judged: bool
    banks: list[BankChoice]
    notes: list[str]


@dataclass(frozen=True)
class About:
    """What the page shows and offers."""

    title: str
    version: str
    directions: list[DirectionChoice]
    depths: list[int]
    most_strength: float
    encoder: bool
    """whether users can type queries"""
    opening: ViewSettings


@dataclass(frozen=True)
class Items:
    """Every target of a direction, column by column: name, id and kind of media."""

    names: list[str]
    ids: list[str]
    media: list[str | None]


@dataclass(frozen=True)
class History:
    """The runs of ``unhub monitor`` on the correction, oldest first; none where it was not monitored."""

    runs: list[HistoryPoint]


@dataclass(frozen=True)
class Changes:
    """Some of the queries whose rank changed, and how many there are."""

    total: int
    offset: int
    changes: list[Change]


@dataclass(frozen=True)
class QueryMatches:
    """Some of the queries that contain the words, and how many there are."""

    total: int
    rows: list[int]
    names: list[str]


class ViewQuery(BaseModel):
    """View settings in a URL; those left out are as the page opens."""

    model_config = ConfigDict(extra="forbid")

    direction: str | None = Field(None, max_length=LONGEST_NAME)
    bank: str | None = Field(None, max_length=LONGEST_NAME)
    method: str | None = Field(None, max_length=LONGEST_NAME)
    tau: float | None = Field(None, gt=0, le=1000, allow_inf_nan=False)
    strength: float | None = Field(None, description=f"from 0 to {MOST_STRENGTH:g}")
    k: int = Field(1, description=f"one of {', '.join(map(str, DEPTHS))}")

    def settings(self, opening: ViewSettings) -> ViewSettings:
        """The complete settings."""
        return ViewSettings(
            self.direction if self.direction is not None else opening.direction,
            self.bank if self.bank is not None else opening.bank,
            self.method if self.method is not None else opening.method,
            self.tau,
            self.strength,
            self.k,
        )


class ChangesQuery(ViewQuery):
    """View settings, and which changed queries to list."""

    which: Which = "worse"
    words: str = Field("", max_length=LONGEST_TEXT)
    offset: int = Field(0, ge=0, le=10**9)
    limit: int = Field(50, ge=1, le=MOST_ROWS)


class SearchQuery(BaseModel):
    """Words to find in the queries of a direction."""

    model_config = ConfigDict(extra="forbid")

    direction: str | None = Field(None, max_length=LONGEST_NAME)
    words: str = Field("", max_length=LONGEST_TEXT)
    limit: int = Field(20, ge=1, le=MOST_ROWS)


class TypedQuery(ViewQuery):
    """View settings, and a query in words."""

    text: str = Field(min_length=1, max_length=LONGEST_TEXT)


class PlaceQuery(BaseModel):
    """A direction and a bank."""

    model_config = ConfigDict(extra="forbid")

    direction: str | None = Field(None, max_length=LONGEST_NAME)
    bank: str | None = Field(None, max_length=LONGEST_NAME)


def about(session: Session, *, encoder: bool) -> About:
    """The choices of all directions."""
    samples = [session.sample(name) for name in session.directions]
    first = samples[0]
    bank = next(iter(first.banks))
    available = session.methods_of(first.direction, bank)
    label = next(name for name in FIRST if name in available)
    opening = ViewSettings(first.direction, bank, label, None, None, OPENING_K)
    directions = [_direction(session, each) for each in samples]
    typed = encoder and session.data.kind == "vectors"
    return About(session.title, VERSION, directions, list(DEPTHS), MOST_STRENGTH, typed, opening)


def items(sample: DirectionSample) -> Items:
    """The targets of a direction."""
    kinds = [None if each is None else each.kind for each in sample.targets.media]
    return Items(list(sample.targets.names), list(sample.targets.ids), kinds)


def matching_queries(sample: DirectionSample, words: str, most: int) -> QueryMatches:
    """The first queries that contain all of the words; the first of all queries without words."""
    rows = rows_with_words(sample, words)
    matches = range(sample.relevance.queries) if rows is None else rows
    first = list(matches[:most])
    return QueryMatches(len(matches), first, [sample.queries.names[row] for row in first])


def rows_with_words(sample: DirectionSample, words: str) -> list[int] | None:
    """The queries that contain all of the words, whatever their case; None without words."""
    parts = words.casefold().split()
    if not parts:
        return None
    return [row for row, name in enumerate(sample.queries.names) if all(each in name.casefold() for each in parts)]


def _direction(session: Session, sample: DirectionSample) -> DirectionChoice:
    banks = []
    for name, bank in sample.banks.items():
        methods, taus = [], {}
        for label in session.methods_of(sample.direction, name):
            method = session.method(label, sample.direction, name)
            fixed = getattr(method, "strength", "auto") != "auto"
            if fixed not in taus:
                scale = session.task_of(method, sample.direction, name).measured.spread
                assert scale is not None
                taus[fixed] = auto_temperature(scale, fixed=fixed)
            adjustable = label != "none" and is_additive(method)
            title, has_tau = listed_name(label, method.name), label != SAVED and method.temperature is not None
            methods.append(MethodChoice(label, title, temperature(fill_auto(method, taus[fixed])), has_tau, adjustable))
        banks.append(BankChoice(name, bank.size, len(bank.rows), bank.overlap, bank.transductive, methods))
    return DirectionChoice(
        sample.direction,
        sample.relevance.queries,
        sample.relevance.gallery,
        sample.noun,
        sample.judged,
        banks,
        list(sample.data.notes),
    )
