"""What the API answers besides the plain data of ``explore``: what there is to choose from, lists, and items."""

from __future__ import annotations

from dataclasses import dataclass

from unhub.banks import spread
from unhub.core.parameters import MOST_STRENGTH
from unhub.explore.material import SAVED, Material, Subject
from unhub.explore.model import Change
from unhub.explore.names import listed_name
from unhub.explore.stage import DEPTHS, Setting, methods_of, temperature
from unhub.foundation.version import VERSION
from unhub.methods import is_additive, settings
from unhub.methods.registry import settle

FIRST = (SAVED, "dbsn", "sn")
"""the method that a page opens with: the first of these that there is"""
OPENING_K = 1


@dataclass(frozen=True)
class MethodChoice:
    """A method that can be chosen: what it is called, and what of it can be changed."""

    label: str
    name: str
    tau: float | None
    has_tau: bool
    has_strength: bool


@dataclass(frozen=True)
class BankChoice:
    """A bank that can be learnt from, and the methods that can."""

    name: str
    size: int
    used: int
    """queries of it that are learnt from here"""
    overlap: int
    transductive: bool
    methods: list[MethodChoice]


@dataclass(frozen=True)
class DirectionChoice:
    """A direction: who asks, what is found, and which banks there are."""

    name: str
    queries: int
    targets: int
    noun: str
    judged: bool
    banks: list[BankChoice]
    notes: list[str]


@dataclass(frozen=True)
class About:
    """What there is to explore and to choose from."""

    title: str
    version: str
    directions: list[DirectionChoice]
    depths: list[int]
    most_strength: float
    encoder: bool
    """whether words of one's own can be asked"""
    opening: Setting


@dataclass(frozen=True)
class Items:
    """Every target of a direction, column by column: what it is called, its id, and what shows it."""

    names: list[str]
    ids: list[str]
    media: list[str | None]


@dataclass(frozen=True)
class Changes:
    """Some queries whose answer moved, of so many."""

    total: int
    offset: int
    changes: list[Change]


@dataclass(frozen=True)
class Found:
    """Queries whose text has the words looked for, of so many."""

    total: int
    rows: list[int]
    names: list[str]


def about(subject: Subject, *, encoder: bool) -> About:
    """What there is, over all directions."""
    materials = [subject.material(name) for name in subject.directions]
    first = materials[0]
    bank = next(iter(first.banks))
    can = methods_of(first, bank)
    label = next(name for name in FIRST if name in can)
    opening = Setting(first.direction, bank, label, None, None, OPENING_K)
    directions = [_direction(each) for each in materials]
    asks = encoder and first.vectors is not None
    return About(subject.title, VERSION, directions, list(DEPTHS), MOST_STRENGTH, asks, opening)


def items(material: Material) -> Items:
    """The targets of a direction."""
    kinds = [None if each is None else each.kind for each in material.targets.media]
    return Items(list(material.targets.names), list(material.target_ids), kinds)


def found(material: Material, words: str, most: int) -> Found:
    """The queries whose text has all of the words, in order; all of them without words."""
    rows = with_words(material, words)
    here = range(material.relevance.queries) if rows is None else rows
    first = list(here[:most])
    return Found(len(here), first, [material.queries.names[row] for row in first])


def with_words(material: Material, words: str) -> list[int] | None:
    """The queries whose text has all of the words, whatever their case; None without words."""
    wanted = words.casefold().split()
    if not wanted:
        return None
    return [row for row, name in enumerate(material.queries.names) if all(each in name.casefold() for each in wanted)]


def _direction(material: Material) -> DirectionChoice:
    banks = []
    for name, learnt in material.banks.items():
        automatic = spread(material.trial(name).banks.queries).tau
        methods = [
            MethodChoice(
                label,
                listed_name(label, each.name),
                temperature(settle(each, automatic)),
                label != SAVED and bool({"tau", "tau1"} & set(settings(each))),
                label != "none" and is_additive(each) and not (label == SAVED and each.strength == 0),
            )
            for label, each in methods_of(material, name).items()
        ]
        banks.append(BankChoice(name, learnt.size, len(learnt.rows), learnt.shared, learnt.transductive, methods))
    return DirectionChoice(
        material.direction,
        material.relevance.queries,
        material.relevance.gallery,
        material.noun,
        material.judged,
        banks,
        list(material.notes),
    )
