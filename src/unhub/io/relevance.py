"""The relevant targets of each query, from pairs of ids or row numbers, indexes, matrices or labels."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.safe_text import short_repr
from unhub.foundation.types import AnyArray, IntArray
from unhub.foundation.wording import argument, setting
from unhub.io.address import Address, find
from unhub.io.arrays import as_array
from unhub.io.formats import FORMATS
from unhub.io.ids import read_column
from unhub.io.text import read_json, read_lines, read_table
from unhub.io.zarr_folder import is_zarr
from unhub.metrics.relevance import Relevance

_NAME = "relevant"
_TABLES = (".tsv", ".csv", ".txt", ".qrels", ".qrel", ".trec")
_JSON, _LINES = ".json", ".txt"
_HEADING = re.compile(r"query|queryid|qid|topic|target|.+[_-]id", re.IGNORECASE)
_COLUMNS = {1: (0,), 2: (0, 1), 3: (0, 1, 2), 4: (0, 2, 3)}  # of query, target and gain, by the number of columns
_SHOWN = 5  # unknown ids named in an error
_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class _Pairs:
    """Relevant pairs: ids or row numbers as they were written; ``queries`` may already be rows."""

    queries: Sequence[Any] | IntArray
    targets: Sequence[Any]
    gains: list[float] | None = None


def read_relevance(
    source: Any,
    *,
    queries: int,
    targets: int,
    query_ids: Sequence[str] | None = None,
    target_ids: Sequence[str] | None = None,
    allow_empty: bool = False,
    partial: bool = False,
    name: str = _NAME,
) -> Relevance:
    """The relevant targets of each query.

    source: in memory, an int array (query -> target), a list of target ids (one per query), a list of sets or lists
        (the targets of each query), a list of tuples (query, target[, gain]), a dictionary {query: [targets]}, or a
        boolean matrix (query, target). As a path: npy or npz::key, tsv, csv or txt pairs, TREC qrels, json.
    queries, targets: how many there are.
    query_ids, target_ids: names in ``source`` are ids if ids are known and some names are among them, otherwise row
        numbers, counted from 0.
    allow_empty: whether a query may have no relevant target; False by default.
    partial: whether an int array may hold -1, for a query that nobody has judged; such queries are empty.
    name: the argument that it was given for.

    >>> read_relevance([{0, 2}, {1}], queries=2, targets=3).targets.tolist()
    [0, 2, 1]
    """
    where = argument(name)
    if isinstance(source, str | os.PathLike):
        address = find(source, name=name)
        source, where = _read(address, queries), address.subject()
    if isinstance(source, Relevance):
        if (source.queries, source.gallery) != (queries, targets):
            came = f"is for {source.queries} queries and {source.gallery} targets"
            raise InputError(name, f"{came}, but there are {queries} queries and {targets} targets")
        return source
    if not partial:
        _refuse_transposed(source, where, queries, targets)
    _refuse_none(source, name, partial=partial, allow_empty=allow_empty)
    values = source if isinstance(source, _Pairs) else _pairs_or_array(source, where, queries, name)
    if isinstance(values, _Pairs):
        rows = values.queries
        if not isinstance(rows, np.ndarray):
            rows = _rows_of(rows, query_ids, count=queries, side="query", where=where)
        columns = _rows_of(values.targets, target_ids, count=targets, side="target", where=where)
        return Relevance.from_pairs(
            rows, columns, queries=queries, gallery=targets, gains=values.gains, allow_empty=allow_empty, name=name
        )
    if partial and values.dtype.kind in "iu" and len(values) == queries:
        if values.size and values.min() < -1:
            raise InputError(f"{where} holds {values.min()}; write -1 for a query that nobody has judged.")
        rows = np.flatnonzero(values >= 0)
        return Relevance.from_pairs(rows, values[rows], queries=queries, gallery=targets, allow_empty=True, name=name)
    if values.dtype.kind != "b":
        return Relevance.from_index(values, targets, queries=queries, name=name)
    if values.shape != (queries, targets):
        raise InputError(f"{where} has shape {values.shape}, but there are {queries} queries and {targets} targets.")
    return Relevance.from_pairs(*np.nonzero(values), queries=queries, gallery=targets, allow_empty=allow_empty)


def _read(address: Address, queries: int) -> Any:
    """The file's contents in one of the forms that are known in memory."""
    if address.suffix in FORMATS or is_zarr(address.path):
        return read_column(address)
    address.check_file([*_TABLES, _JSON, *FORMATS])
    with address.reading("relevance"):
        return _read_json_pairs(address, queries) if address.suffix == _JSON else _read_table_pairs(address)


def _refuse_transposed(source: Any, where: str, queries: int, targets: int) -> None:
    """An error if there is one entry for each target instead of each query."""
    flat = isinstance(source, np.ndarray) and source.ndim == 1
    listed = isinstance(source, list | tuple) and not any(isinstance(item, tuple) for item in source)
    if (flat or listed) and len(source) == targets != queries:
        raise InputError(
            f"there are {queries:,} queries and {targets:,} targets but {where} has {targets:,} entries, one for each "
            f"target; rows are queries, so this looks transposed: transpose the scores, or swap queries and targets."
        )


def _refuse_none(source: Any, name: str, *, partial: bool, allow_empty: bool) -> None:
    """An error if a query has None or NaN in place of a target; it says how to write that there is none."""
    if not isinstance(source, list | tuple) and not (isinstance(source, np.ndarray) and source.dtype.kind in "fO"):
        return
    missing = (at for at, each in enumerate(source) if each is None or (np.isscalar(each) and each != each))
    at = next(missing, None)
    if at is None:
        return
    empty = "an empty set in a list of sets, as in [{'cat'}, set()]"
    advice = f"give each query a target, or {empty}, with {setting('allow_empty', True)}"
    if partial:
        advice = f"for a query that nobody has judged write -1 among row numbers, and with ids {empty}"
    elif allow_empty:
        advice = f"for a query without a target write {empty}"
    raise InputError(name, f"has {source[at]} for query {at}", advice)


def _pairs_or_array(source: Any, where: str, queries: int, name: str) -> _Pairs | AnyArray:
    """Pairs to look up, an index (query,) or a boolean matrix (query, target)."""
    if isinstance(source, Mapping):
        return _from_mapping(source, where)
    if isinstance(source, list | tuple):
        if not source:
            raise InputError(f"{where} is empty; give the relevant targets of {queries} queries.")
        if all(isinstance(item, tuple) for item in source):
            return _from_tuples(source, where)
        if all(isinstance(item, str) for item in source):
            _check_count(len(source), queries, where)
            return _Pairs(np.arange(queries), source)
        if all(isinstance(item, list | AbstractSet | np.ndarray) for item in source):
            _check_count(len(source), queries, where)
            rows = np.repeat(np.arange(queries), [len(item) for item in source])
            return _Pairs(rows, [target for item in source for target in item])
    array = as_array(source, name=name)
    if array.dtype.kind in "UST" and array.ndim == 1:
        return _pairs_or_array(array.astype(str).tolist(), where, queries, name)
    if array.ndim == 1 or (array.ndim == 2 and array.dtype.kind == "b"):
        return array
    if array.ndim == 2 and array.shape[1] == 2:
        _check_unambiguous(array.tolist(), where, queries)
        return _from_tuples(array.tolist(), where)
    raise InputError(
        f"{where} has shape {array.shape}; "
        "give one target per query (a flat array), pairs as tuples, or a list of sets."
    )


def _check_count(count: int, queries: int, where: str) -> None:
    if count != queries:
        raise InputError(
            f"{where} has {count} entries but there are {queries} queries; give one for each query, or pairs as tuples."
        )


def _check_unambiguous(entries: Sequence[Sequence[Any]], where: str, queries: int) -> None:
    """An error if rows of numbers, one for each query, may be pairs as well as the targets of each query."""
    numbers = all(not isinstance(value, str) for entry in entries for value in entry)
    if len(entries) == queries and numbers:
        raise InputError(
            f"{where} has {queries} rows of {len(entries[0])} numbers for {queries} queries, which may be "
            "pairs or the targets of each query; give a dictionary {query: [targets]} instead."
        )


def _from_tuples(entries: Iterable[Sequence[Any]], where: str) -> _Pairs:
    """Pairs (query, target) or triples (query, target, gain); a gain of 0 or less means not relevant."""
    pairs: list[tuple[Any, Any, float]] = []
    for position, entry in enumerate(entries):
        if len(entry) not in (2, 3):
            raise InputError(
                f"{where} has {len(entry)} values in entry {position} (counted from 0); "
                "a pair is (query, target) or (query, target, gain)."
            )
        gain = _gain(entry[2], f"{where} entry {position}") if len(entry) == 3 else 1.0
        if gain > 0:
            pairs.append((entry[0], entry[1], gain))
    if not pairs:
        raise InputError(f"{where} holds no relevant pair; give at least one with a positive gain.")
    queries, targets, gains = map(list, zip(*pairs, strict=True))
    return _Pairs(queries, targets, gains)


def _from_mapping(mapping: Mapping[Any, Any], where: str) -> _Pairs:
    """Pairs from {query: target}, {query: [targets]} or {query: {target: gain}}."""
    entries: list[tuple[Any, ...]] = []
    for query, value in mapping.items():
        if isinstance(value, Mapping):
            entries += [(query, target, gain) for target, gain in value.items()]
        elif isinstance(value, str) or not isinstance(value, Iterable):
            entries.append((query, value))
        else:
            entries += [(query, target) for target in value]
    return _from_tuples(entries, where)


def _gain(value: Any, where: str) -> float:
    try:
        gain = float(value)
    except (TypeError, ValueError):
        gain = math.nan
    if not math.isfinite(gain):
        raise InputError(f"{where} has the gain {short_repr(value)}, which is not a finite number; write a number.")
    return gain


def _read_table_pairs(address: Address) -> _Pairs | list[str]:
    """The pairs of a table; a single column is the target of each query, in order.

    Two columns are query and target, three add a gain, four are TREC qrels (query, 0, target, relevance). A heading is
    recognised by its first name, or by a gain that is not a number.
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
    return [cells[0] for cells in columns] if width == 1 else _from_tuples(columns, address.subject())


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


def _read_json_pairs(address: Address, queries: int) -> _Pairs | list[Any]:
    """The pairs of a JSON file: an object by query, a list of pairs or records, a list in query order."""
    value, where = read_json(address), address.subject()
    if isinstance(value, dict):
        return _as_text(_from_mapping(value, where))
    if not isinstance(value, list) or not value:
        raise address.problem('holds no pairs; write {"query": ["target", ...], ...} or [["query", "target"], ...].')
    if all(isinstance(entry, dict) for entry in value):
        for position, record in enumerate(value):
            if not {"query", "target"} <= set(record) <= {"query", "target", "gain"}:
                raise InputError(
                    f"{where} has the fields {', '.join(record) or '(none)'} in entry {position} "
                    "(counted from 0); wanted are query, target and perhaps gain."
                )
        triples = [(record["query"], record["target"], record.get("gain", 1)) for record in value]
        return _as_text(_from_tuples(triples, where))
    if all(isinstance(entry, list) and len(entry) in (2, 3) for entry in value):
        _check_unambiguous(value, where, queries)
        return _as_text(_from_tuples(value, where))
    return [list(map(_token, entry)) if isinstance(entry, list) else _token(entry) for entry in value]


def _as_text(pairs: _Pairs) -> _Pairs:
    """The same pairs with numbers as text: in a file, unlike in memory, they may be ids."""
    return replace(pairs, queries=list(map(_token, pairs.queries)), targets=list(map(_token, pairs.targets)))


def _token(value: Any) -> str:
    """A query or target as text; a list or an object is cut short, and then matches no id."""
    return short_repr(value) if isinstance(value, list | dict) else str(value)


def _rows_of(tokens: Sequence[Any], ids: Sequence[str] | None, *, count: int, side: str, where: str) -> IntArray:
    """The rows that the tokens name.

    Numbers are row numbers, counted from 0. Text, as in files, is ids if ids are known and at least one token is among
    them, and otherwise row numbers too. ``side`` is "query" or "target", ``count`` is how many of these there are.
    """
    if all(isinstance(token, int | np.integer) for token in tokens):
        return np.array(tokens, dtype=np.int64)
    words = [str(token) for token in tokens]
    row_of = {item: row for row, item in enumerate(ids or ())}
    rows = [row_of.get(word, -1) for word in words]
    plural = "queries" if side == "query" else "targets"
    if not ids or all(row < 0 for row in rows):
        odd = next((word for word in words if not _WHOLE.fullmatch(word)), None)
        if odd is None:
            return np.array([int(word) for word in words], dtype=np.int64)
        if not ids:
            raise InputError(
                f"{where} names the {side} {odd!r}, but the {plural} have no ids; "
                f"give {side} ids, or row numbers counted from 0."
            )
    unknown = list(dict.fromkeys(word for word, row in zip(words, rows, strict=True) if row < 0))
    if unknown:
        listed = ", ".join(map(repr, unknown[:_SHOWN])) + (", ..." if len(unknown) > _SHOWN else "")
        raise InputError(
            f"{where} names {len(unknown):,} {side} ids that are not among those of the {count:,} "
            f"{plural}: {listed}; leave these pairs out or give the matching {side} ids."
        )
    return np.array(rows, dtype=np.int64)


def relevance_from_labels(query_labels: Any, target_labels: Any = None, *, allow_empty: bool = False) -> Relevance:
    """The relevance of two lists of labels: a target is relevant to a query with the same label.

    query_labels: an array, a list or a file (txt with one per line, npy, npz::key); a single npz or other file of
        arrays may hold both, as ``query_labels`` and ``target_labels``.
    target_labels: the same for the targets; None if the first file holds both.
    allow_empty: whether a query may have no relevant target; False by default.

    >>> relevance_from_labels(["cat", "dog"], ["dog", "cat", "cat"]).counts.tolist()
    [2, 1]
    """
    if target_labels is None:
        if not isinstance(query_labels, str | os.PathLike):
            raise InputError("target_labels", "is missing", "give the labels of the queries and of the targets")
        both = find(query_labels, name="labels")
        of_queries, of_targets = (read_column(replace(both, key=key)) for key in ("query_labels", "target_labels"))
    else:
        of_queries, of_targets = _labels(query_labels, "query labels"), _labels(target_labels, "target labels")
    kinds = of_queries.dtype.kind + of_targets.dtype.kind
    if kinds[0] != kinds[1] and "U" in kinds:  # a text file and an array of numbers
        of_queries, of_targets = of_queries.astype(str), of_targets.astype(str)
    return Relevance.from_labels(of_queries, of_targets, allow_empty=allow_empty)


def _labels(source: Any, name: str) -> AnyArray:
    if isinstance(source, str | os.PathLike):
        address = find(source, name=name)
        if not address.path.is_dir():
            address.check_file([_LINES, *FORMATS])
        labels = np.array(read_lines(address)) if address.suffix == _LINES else read_column(address)
    else:
        labels = as_array(source, name=name)
    if labels.ndim != 1:
        raise InputError(name, f"has shape {labels.shape}", "give one label for each row")
    return labels.astype(str) if labels.dtype.kind in "OST" else labels
