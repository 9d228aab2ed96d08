"""Pairs of a query and a target, in memory or in files: ids or row numbers, perhaps with a gain."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.safe_text import short_repr
from unhub.foundation.types import IntArray
from unhub.io.address import Address
from unhub.io.text import read_json, read_table

Token = Any  # an id or a row number, as it was written

_HEADING = re.compile(r"query|queryid|qid|topic|target|.+[_-]id", re.IGNORECASE)
_COLUMNS = {1: (0,), 2: (0, 1), 3: (0, 1, 2), 4: (0, 2, 3)}  # of query, target and gain, by the number of columns
_SHOWN = 5  # unknown ids named in an error
_WHOLE = re.compile(r"-?[0-9]{1,18}")


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
        raise InputError(f"{where} has the gain {short_repr(value)}, which is not a finite number; write a number.")
    return gain


def pairs_in_table(address: Address) -> Pairs | list[str]:
    """The pairs of a table; a single column is the target of each query, in order.

    Two columns are query and target, three add a gain, four are TREC qrels (query, 0, target, relevance). A
    heading is recognised by its first name, or by a gain that is not a number.
    """
    table = read_table(address)
    if not table:
        raise address.problem("holds no lines; write one pair of query and target in each.")
    if _is_heading(table[0][1]):
        table = table[1:]
    if not table:
        raise address.problem("holds a heading and no pairs; write one pair of query and target in each line.")
    width = len(table[0][1])
    for number, cells in table:
        if len(cells) != width or width not in _COLUMNS or not all(cells):
            raise address.problem(
                f"has {len([cell for cell in cells if cell])} values in line {number}; "
                "each line holds query and target, perhaps a gain, or the four columns of TREC qrels."
            )
    columns = [[cells[index] for index in _COLUMNS[width]] for _, cells in table]
    return [cells[0] for cells in columns] if width == 1 else from_tuples(columns, address.subject())


def pairs_in_json(address: Address, *, queries: int) -> Pairs | list[Any]:
    """The pairs of a JSON file: an object by query, a list of pairs or records, a list in query order."""
    value, where = read_json(address), address.subject()
    if isinstance(value, dict):
        return _as_text(from_mapping(value, where))
    if not isinstance(value, list) or not value:
        raise address.problem('holds no pairs; write {"query": ["target", ...], ...} or [["query", "target"], ...].')
    if all(isinstance(entry, dict) for entry in value):
        return _as_text(from_records(value, where))
    if all(isinstance(entry, list) and len(entry) in (2, 3) for entry in value):
        check_unambiguous(value, where, queries=queries)
        return _as_text(from_tuples(value, where))
    return [list(map(_name, entry)) if isinstance(entry, list) else _name(entry) for entry in value]


def check_unambiguous(entries: Sequence[Sequence[Any]], where: str, *, queries: int) -> None:
    """An error if rows of numbers, one for each query, may be pairs as well as the targets of each query."""
    numbers = all(not isinstance(value, str) for entry in entries for value in entry)
    if len(entries) == queries and numbers:
        raise InputError(
            f"{where} has {queries} rows of {len(entries[0])} numbers for {queries} queries, which may be "
            "pairs or the targets of each query; give a dictionary {query: [targets]} instead."
        )


def _as_text(pairs: Pairs) -> Pairs:
    """The same pairs with numbers as text: in a file, unlike in memory, they may be ids."""
    return replace(pairs, queries=list(map(_name, pairs.queries)), targets=list(map(_name, pairs.targets)))


def _name(value: Any) -> str:
    """A query or target as text; a list or an object is cut short, and then matches no id."""
    return short_repr(value) if isinstance(value, list | dict) else str(value)


def _is_heading(cells: list[str]) -> bool:
    if _HEADING.fullmatch(cells[0]):
        return True
    if len(cells) not in (3, 4):
        return False
    try:
        float(cells[-1])
    except ValueError:
        return True
    return False


def rows_of(tokens: Sequence[Any], ids: Sequence[str] | None, *, count: int, side: str, where: str) -> IntArray:
    """The rows that the tokens name.

    Numbers are row numbers, counted from 0. Text, as in files, is ids if ids are known and at least one token is among
    them, and otherwise row numbers too. ``side`` is "query" or "target", ``count`` is how many of these there are.
    """
    if all(isinstance(token, int | np.integer) for token in tokens):
        return np.array(tokens, dtype=np.int64)
    words = [str(token) for token in tokens]
    row_of = {item: row for row, item in enumerate(ids or ())}
    rows = [row_of.get(word, -1) for word in words]
    if not ids or all(row < 0 for row in rows):
        if all(_WHOLE.fullmatch(word) for word in words):
            return np.array([int(word) for word in words], dtype=np.int64)
        if not ids:
            odd = next(word for word in words if not _WHOLE.fullmatch(word))
            raise InputError(
                f"{where} names the {side} {odd!r}, but the {plural(side)} have no ids; "
                f"give {side} ids, or row numbers counted from 0."
            )
    unknown = list(dict.fromkeys(word for word, row in zip(words, rows, strict=True) if row < 0))
    if unknown:
        listed = ", ".join(map(repr, unknown[:_SHOWN])) + (", ..." if len(unknown) > _SHOWN else "")
        raise InputError(
            f"{where} names {len(unknown):,} {side} ids that are not among those of the {count:,} "
            f"{plural(side)}: {listed}; leave these pairs out or give the matching {side} ids."
        )
    return np.array(rows, dtype=np.int64)


def plural(side: str) -> str:
    """The word for several of a side: queries, targets."""
    return {"query": "queries"}.get(side, f"{side}s")
