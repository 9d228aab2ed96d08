"""``read_relevance``: the relevant targets of each query, from pairs, indexes or classes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray
from unhub.foundation.wording import argument
from unhub.io.address import Address, find
from unhub.io.arrays import as_array
from unhub.io.formats import FORMATS
from unhub.io.ids import read_column
from unhub.io.pairs import Pairs, check_unambiguous, from_mapping, from_tuples, pairs_in_json, pairs_in_table, rows_of
from unhub.io.text import read_lines
from unhub.io.zarr_folder import is_zarr
from unhub.metrics.relevance import Relevance

_NAME = "relevant"
_TABLES = (".tsv", ".csv", ".txt", ".qrels", ".qrel", ".trec")
_JSON, _LINES = ".json", ".txt"


def read_relevance(
    source: Any,
    *,
    queries: int,
    targets: int,
    query_ids: Sequence[str] | None = None,
    target_ids: Sequence[str] | None = None,
    allow_empty: bool = False,
) -> Relevance:
    """The relevant targets of each query.

    In memory: an int array (query -> target), a list of target ids (one per query), a list of sets or lists
    (the targets of each query), a list of tuples (query, target[, gain]), a dictionary {query: [targets]}, or
    a boolean matrix (query, target). As a path: npy or npz::key, tsv, csv or txt pairs, TREC qrels, json. Queries and
    targets are named by id if ids are known and the names are among them, otherwise by row number, counted from 0.

    >>> read_relevance([{0, 2}, {1}], queries=2, targets=3).targets.tolist()
    [0, 2, 1]
    """
    where = argument(_NAME)
    if isinstance(source, str | os.PathLike):
        address = find(source, name=_NAME)
        source, where = _read(address, queries), address.subject()
    if isinstance(source, Relevance):
        if (source.queries, source.gallery) != (queries, targets):
            came = f"is for {source.queries} queries and {source.gallery} targets"
            raise InputError(_NAME, f"{came}, but there are {queries} queries and {targets} targets")
        return source
    _refuse_transposed(source, where, queries, targets)
    values = _pairs_or_array(source, where, queries)
    if isinstance(values, Pairs):
        rows = values.queries
        if not isinstance(rows, np.ndarray):
            rows = rows_of(rows, query_ids, count=queries, side="query", where=where)
        columns = rows_of(values.targets, target_ids, count=targets, side="target", where=where)
        return Relevance.from_pairs(
            rows, columns, queries=queries, gallery=targets, gains=values.gains, allow_empty=allow_empty
        )
    if values.dtype.kind != "b":
        return Relevance.from_index(values, targets, queries=queries)
    if values.shape != (queries, targets):
        raise InputError(f"{where} has shape {values.shape}, but there are {queries} queries and {targets} targets.")
    return Relevance.from_pairs(*np.nonzero(values), queries=queries, gallery=targets, allow_empty=allow_empty)


def _read(address: Address, queries: int) -> Any:
    """The file's contents in one of the forms that are known in memory."""
    if address.suffix in FORMATS or is_zarr(address.path):
        return read_column(address)
    address.check_file([*_TABLES, _JSON, *FORMATS])
    with address.reading("relevance"):
        return pairs_in_json(address, queries=queries) if address.suffix == _JSON else pairs_in_table(address)


def _refuse_transposed(source: Any, where: str, queries: int, targets: int) -> None:
    """An error if there is one entry for each target instead of each query."""
    flat = isinstance(source, np.ndarray) and source.ndim == 1
    listed = isinstance(source, list | tuple) and not any(isinstance(item, tuple) for item in source)
    if (flat or listed) and len(source) == targets != queries:
        raise InputError(
            f"there are {queries:,} queries and {targets:,} targets but {where} has {targets:,} entries, one for each "
            f"target; rows are queries, so this looks transposed: transpose the scores, or swap queries and targets."
        )


def _pairs_or_array(source: Any, where: str, queries: int) -> Pairs | AnyArray:
    """Pairs to look up, an index (query,) or a boolean matrix (query, target)."""
    if isinstance(source, Pairs):
        return source
    if isinstance(source, Mapping):
        return from_mapping(source, where)
    if isinstance(source, list | tuple):
        return _from_list(source, where, queries)
    return _from_array(as_array(source, name=_NAME), where, queries)


def _from_list(items: Sequence[Any], where: str, queries: int) -> Pairs | AnyArray:
    if not items:
        raise InputError(f"{where} is empty; give the relevant targets of {queries} queries.")
    if all(isinstance(item, tuple) for item in items):
        return from_tuples(items, where)
    if all(isinstance(item, str) for item in items):
        _check_count(len(items), queries, where)
        return Pairs(np.arange(queries), items)
    if all(isinstance(item, list | AbstractSet | np.ndarray) for item in items):
        _check_count(len(items), queries, where)
        rows = np.repeat(np.arange(queries), [len(item) for item in items])
        return Pairs(rows, [target for item in items for target in item])
    return _from_array(as_array(items, name=_NAME), where, queries)


def _from_array(array: AnyArray, where: str, queries: int) -> Pairs | AnyArray:
    if array.dtype.kind in "UST" and array.ndim == 1:
        return _from_list(array.astype(str).tolist(), where, queries)
    if array.ndim == 1 or (array.ndim == 2 and array.dtype.kind == "b"):
        return array
    if array.ndim == 2 and array.shape[1] == 2:
        check_unambiguous(array.tolist(), where, queries=queries)
        return from_tuples(array.tolist(), where)
    raise InputError(
        f"{where} has shape {array.shape}; "
        "give one target per query (a flat array), pairs as tuples, or a list of sets."
    )


def _check_count(count: int, queries: int, where: str) -> None:
    if count != queries:
        raise InputError(
            f"{where} has {count} entries but there are {queries} queries; give one for each query, or pairs as tuples."
        )


def relevance_from_labels(query_labels: Any, target_labels: Any = None, *, allow_empty: bool = False) -> Relevance:
    """The relevance of two lists of labels: arrays, lists or files (txt with one per line, npy, npz::key).

    A single npz or other file of arrays may hold both, as ``query_labels`` and ``target_labels``.

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
    is_path = isinstance(source, str | os.PathLike)
    labels = _labels_in_file(find(source, name=name)) if is_path else as_array(source, name=name)
    if labels.ndim != 1:
        raise InputError(name, f"has shape {labels.shape}", "give one label for each row")
    return labels.astype(str) if labels.dtype.kind in "OST" else labels


def _labels_in_file(address: Address) -> AnyArray:
    if not address.path.is_dir():
        address.check_file([_LINES, *FORMATS])
    return np.array(read_lines(address)) if address.suffix == _LINES else read_column(address)
