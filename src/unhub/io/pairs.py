"""Pairs of a query and a target as they are written down: ids or row numbers, perhaps with a gain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.shown import shown
from unhub.foundation.types import IntArray

Token = Any  # an id or a row number, as it was written


@dataclass(frozen=True)
class Pairs:
    """Relevant pairs, not yet looked up; ``queries`` may already be row numbers."""

    queries: Sequence[Token] | IntArray
    targets: Sequence[Token]
    gains: list[float] | None = None


def from_tuples(entries: Iterable[Sequence[Any]], where: str) -> Pairs:
    """Pairs (query, target) or triples (query, target, gain); a gain of 0 or less means not relevant."""
    queries: list[Token] = []
    targets: list[Token] = []
    gains: list[float] = []
    for position, entry in enumerate(entries):
        if len(entry) not in (2, 3):
            raise InputError(
                f"{where} has {len(entry)} values in entry {position} (counted from 0); "
                "a pair is (query, target) or (query, target, gain)."
            )
        gain = _gain(entry[2], f"{where} entry {position}") if len(entry) == 3 else 1.0
        if gain > 0:
            queries.append(entry[0])
            targets.append(entry[1])
            gains.append(gain)
    if not queries:
        raise InputError(f"{where} holds no relevant pair; give at least one with a positive gain.")
    return Pairs(queries, targets, gains)


def from_mapping(mapping: Mapping[Any, Any], where: str) -> Pairs:
    """Pairs from {query: target}, {query: [targets]} or {query: {target: gain}}."""
    entries: list[tuple[Any, ...]] = []
    for query, value in mapping.items():
        if isinstance(value, Mapping):
            entries += [(query, target, gain) for target, gain in value.items()]
        elif isinstance(value, str) or not isinstance(value, Iterable):
            entries.append((query, value))
        else:
            entries += [(query, target) for target in value]
    return from_tuples(entries, where)


def from_records(records: Sequence[Mapping[str, Any]], where: str) -> Pairs:
    """Pairs from objects with the fields query, target and perhaps gain."""
    for position, record in enumerate(records):
        if not {"query", "target"} <= set(record) <= {"query", "target", "gain"}:
            raise InputError(
                f"{where} has the fields {', '.join(record) or '(none)'} in entry {position} "
                "(counted from 0); wanted are query, target and perhaps gain."
            )
    return from_tuples([(record["query"], record["target"], record.get("gain", 1)) for record in records], where)


def _gain(value: Any, where: str) -> float:
    try:
        gain = float(value)
    except (TypeError, ValueError):
        gain = math.nan
    if not math.isfinite(gain):
        raise InputError(f"{where} has the gain {shown(value)}, which is not a finite number; write a number.")
    return gain
