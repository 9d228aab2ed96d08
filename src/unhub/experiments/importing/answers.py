"""Which target each query asks for: from a file, whose numbers may start at 1, or from the order of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unhub.experiments.importing.reading import Opener
from unhub.experiments.importing.targets import Targets
from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray, IntArray


@dataclass(frozen=True, eq=False)
class Answers:
    """The target of each query, and how it is known."""

    target: IntArray
    said: str


def in_order(queries: int, targets: Targets) -> Answers | None:
    """Those that the order of the rows tells, or None: query i and target i, or as many queries for each target."""
    if queries == targets.published:
        pairs = "query i belongs to target i"
        return Answers(targets.number, pairs if targets.firsts is None else f"{pairs} of the file")
    each, rest = divmod(queries, targets.count)
    if rest or not each:
        return None
    return Answers(np.arange(queries) // each, f"{each:,} queries for each target, in order")


def unknown(queries: int, targets: Targets, *, matrix: bool) -> InputError:
    """The error where nothing says which target a query asks for."""
    turned = matrix and targets.published % queries == 0
    hint = "if rows are targets, pass transpose=True (--transpose); otherwise " if turned else ""
    return InputError(
        f"{queries:,} queries do not divide evenly among {targets.count:,} targets; {hint}give relevant (--relevant), "
        f"a file with the target of each query."
    )


def from_file(
    opener: Opener, source: str, targets: Targets, *, first: int | None, ids: Sequence[str] | None
) -> Answers:
    """Those that a file tells, by the ids of the targets or by their numbers, which start at 0 or 1."""
    told = opener.column(source, "relevant")
    where = f"relevant: {source}"
    if ids is not None and first is None:
        rows = {name: row for row, name in enumerate(ids)}
        named = [rows.get(str(each)) for each in told.tolist()]
        if None not in named:
            return Answers(np.array(named, dtype=np.int64), "targets of queries by their ids")
    numbers = _whole(told, where)
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
    """The number of the first target, if the numbers tell: only one that starts at 1 has the count among them."""
    if low > 0 and high < counted:
        raise InputError(
            f"{where} has numbers from {low:,} to {high:,} for {counted:,} targets, which may start at 0 or at 1; say "
            f"which with first=0 or first=1 (--first)."
        )
    return 1 if low > 0 else 0


def _whole(told: AnyArray, where: str) -> IntArray:
    try:
        numbers = told.astype(np.float64)
    except ValueError:
        raise InputError(
            f"{where} holds what is no number, such as {_odd(told)!r}; give the number of a target for each query, or "
            f"ids with target_ids (--target-ids) that has all of them."
        ) from None
    if not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        raise InputError(f"{where} holds numbers that are not whole; give the number of a target for each query.")
    return numbers.astype(np.int64)


def _odd(told: AnyArray) -> str:
    """The first that is no number."""
    return next(text for text in map(str, told.tolist()) if not text.lstrip("-").replace(".", "", 1).isdigit())
