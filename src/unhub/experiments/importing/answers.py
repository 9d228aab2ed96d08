"""The target of each query, repeated targets, and the captions of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.experiments.importing.reading import Opener
from unhub.foundation.errors import InputError
from unhub.foundation.safe_text import short_repr
from unhub.foundation.types import AnyArray, BoolArray, IntArray
from unhub.foundation.wording import argument, setting

MOSTLY = 1 / 3
"""share of repeats from which on they are meant: one caption and a half for each image; fewer are look-alikes"""


@dataclass(frozen=True, eq=False)
class Targets:
    """Published targets, and which of ours each of them is."""

    number: IntArray
    """(published,): the row of the same target among ours"""
    notes: tuple[str, ...] = ()

    @property
    def published(self) -> int:
        """How many there were."""
        return len(self.number)

    @property
    def count(self) -> int:
        """How many different ones there are."""
        return int(self.number[-1]) + 1

    @property
    def firsts(self) -> IntArray | None:
        """The first of each among the published, or None where no two are the same."""
        return None if self.count == self.published else np.flatnonzero(np.diff(self.number, prepend=-1))


def distinct(repeats: BoolArray, what: str) -> Targets:
    """The different targets, if enough of them repeat the one before; ``what`` is what a sentence calls them."""
    count, published = int((~repeats).sum()), len(repeats)
    if count == published:
        return Targets(np.arange(published))
    if count == 1 or published - count < MOSTLY * published:
        same = f"{what} that are the same as the one before, kept: {published - count:,} of {published:,}"
        return Targets(np.arange(published), (same,))
    return Targets(np.cumsum(~repeats) - 1, (f"{count:,} different of {published:,} {what}; each was taken once",))


@dataclass(frozen=True, eq=False)
class Answers:
    """The target of each query, and how it is known."""

    target: IntArray
    note: str


def in_order(queries: int, targets: Targets) -> Answers | None:
    """Those by the order of the rows, or None: query i and target i, or as many queries for each target."""
    if queries == targets.published:
        pairs = "query i belongs to target i"
        return Answers(targets.number, pairs if targets.firsts is None else f"{pairs} of the file")
    each, rest = divmod(queries, targets.count)
    if rest or not each:
        return None
    return Answers(np.arange(queries) // each, f"{each:,} queries for each target, in order")


def from_file(
    opener: Opener, source: str, targets: Targets, *, first: int | None, ids: Sequence[str] | None
) -> Answers:
    """Those of a file, by the ids of the targets or by their numbers, which start at 0 or 1."""
    column = opener.column(source, "relevant")
    where = f"{argument('relevant')}: {source}"
    if ids is not None and first is None:
        rows = {name: row for row, name in enumerate(ids)}
        by_id = [rows.get(str(each)) for each in column.tolist()]
        if None not in by_id:
            return Answers(np.array(by_id, dtype=np.int64), "targets of queries by their ids")
    numbers = _whole(column, where)
    low, high = int(numbers.min()), int(numbers.max())
    counted = targets.count if high <= targets.count else targets.published
    base = _first(low, high, counted, where) if first is None else first
    if low < base or high >= base + counted:
        raise InputError(f"{where} has numbers from {low:,} to {high:,}, but there are {counted:,} targets.")
    index = numbers - base
    return Answers(
        index if counted == targets.count else targets.number[index],
        f"targets of queries are counted from {base}" + (" in the file, and from 0 here" if base else ""),
    )


def _first(low: int, high: int, counted: int, where: str) -> int:
    """The number of the first target, if the numbers show it: only one that starts at 1 has the count among them."""
    if low > 0 and high < counted:
        raise InputError(
            f"{where} has numbers from {low:,} to {high:,} for {counted:,} targets, which may start at 0 or at 1; say "
            f"which with {setting('first', 0)} or {setting('first', 1)}."
        )
    return 1 if low > 0 else 0


def _whole(column: AnyArray, where: str) -> IntArray:
    try:
        numbers = column.astype(np.float64)
    except ValueError:
        texts = map(str, column.tolist())
        odd = next(text for text in texts if not text.lstrip("-").replace(".", "", 1).isdigit())
        raise InputError(
            f"{where} holds what is no number, such as {odd!r}; give the number of a target for each query, or "
            f"ids that are all in {argument('target_ids')}."
        ) from None
    if not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        raise InputError(f"{where} holds numbers that are not whole; give the number of a target for each query.")
    return numbers.astype(np.int64)


NOTHING = "-"
"""in the place of a caption without a word: a line of a text file must have something"""


def read_captions(
    opener: Opener, source: str, *, ids: Sequence[str] | None, target: IntArray | None, used: BoolArray, left: IntArray
) -> list[str]:
    """A caption for each query that is left.

    The file has one for each published query or for each that is left: a list in their order, or those of each target
    by its id. target: (published query,), where it is known. left: the same of those that are ``used``.
    """
    texts, where = opener.texts(source, "captions"), f"{argument('captions')}: {source}"
    if isinstance(texts, dict):
        if ids is None:
            raise InputError(f"{where} has captions by id; give {argument('target_ids')}, the id of each target.")
        by_id = {str(key): _captions(each, where) for key, each in texts.items()}
        count = sum(len(by_id.get(each, ())) for each in ids)
        captions = _by_target(by_id, where, ids, target if target is not None and count == len(target) else left)
    else:
        captions = _captions(texts, where)
    if len(captions) == len(used):
        return [each for each, stays in zip(captions, used, strict=True) if stays]
    if len(captions) != len(left):
        count = len(captions)
        raise InputError(f"{where} has {count:,} captions but there are {len(left):,} queries; give one for each.")
    return captions


def _by_target(by_id: Mapping[str, list[str]], where: str, ids: Sequence[str], target: IntArray) -> list[str]:
    """Captions of targets, assigned to the queries of each in their order."""
    captions = [""] * len(target)
    rows = iter(np.argsort(target, kind="stable").tolist())
    for name, queries in zip(ids, np.bincount(target, minlength=len(ids)).tolist(), strict=True):
        own = by_id.get(name, ())
        if len(own) != queries:
            count = f"{len(own):,}" if name in by_id else "no"
            raise InputError(f"{where} has {count} captions of {name!r}, a target with {queries:,} queries.")
        for text, row in zip(own, rows, strict=False):
            captions[row] = text
    return captions


def _captions(texts: Any, where: str) -> list[str]:
    """One line for each text or list of words."""
    lines = []
    for text in texts if isinstance(texts, list) else [texts]:
        words = text if isinstance(text, list) else [text]
        if not all(isinstance(each, str) for each in words):
            raise InputError(f"{where} has {short_repr(text)} for a caption; give text, or a list of words.")
        lines.append(" ".join(" ".join(words).split()) or NOTHING)
    return lines
