"""Files of pairs: tables with two or three columns, TREC qrels with four, JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.shown import shown
from unhub.io.address import Address
from unhub.io.pairs import Pairs, from_mapping, from_records, from_tuples
from unhub.io.text import read_json, read_table

_HEADING = re.compile(r"query|queryid|qid|topic|target|.+[_-]id", re.IGNORECASE)
_COLUMNS = {1: (0,), 2: (0, 1), 3: (0, 1, 2), 4: (0, 2, 3)}  # where query, target and gain stand


def pairs_in_table(address: Address) -> Pairs | list[str]:
    """The pairs of a table; a single column is the target of each query, in order.

    Two columns are query and target, three add a gain, four are TREC qrels (query, 0, target, relevance). A
    heading is recognised by its first name, or by a gain that is no number.
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
    picked = [[cells[index] for index in _COLUMNS[width]] for _, cells in table]
    where = f"{address.name}: {address.path}"
    return [cells[0] for cells in picked] if width == 1 else from_tuples(picked, where)


def pairs_in_json(address: Address, *, queries: int) -> Pairs | list[Any]:
    """The pairs of a JSON file: an object by query, a list of pairs or records, a list in query order."""
    value, where = read_json(address), f"{address.name}: {address.path}"
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
    """A query or target as text; one that is itself a list or an object is cut short, and then not known."""
    return shown(value) if isinstance(value, list | dict) else str(value)


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
