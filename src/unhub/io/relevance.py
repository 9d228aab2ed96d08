"""``read_relevance``: which targets are right for which query, from whatever they are written down in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray
from unhub.io.address import Address, check_is_file, check_not_empty, find
from unhub.io.arrays import as_array
from unhub.io.columns import read_column
from unhub.io.damage import guarded
from unhub.io.formats import FORMATS, check_extension
from unhub.io.pair_files import check_unambiguous, pairs_in_json, pairs_in_table
from unhub.io.pairs import Pairs, from_mapping, from_tuples
from unhub.io.row_lookup import rows_of
from unhub.io.zarr_folder import is_zarr
from unhub.metrics.relevance import Relevance

_NAME = "relevant"
_TABLES = (".tsv", ".csv", ".txt", ".qrels", ".qrel", ".trec")
_PAIR_FILES: dict[str, Callable[[Address, int], Any]] = {
    **dict.fromkeys(_TABLES, lambda address, queries: pairs_in_table(address)),
    ".json": lambda address, queries: pairs_in_json(address, queries=queries),
}


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
    a boolean matrix (query, target). As a path: npy or npz::key, tsv, csv or txt pairs, TREC qrels, json.
    Queries and targets are named by id if ids are known and the names are among them, otherwise by row
    number, counted from 0.

    >>> read_relevance([{0, 2}, {1}], queries=2, targets=3).targets.tolist()
    [0, 2, 1]
    """
    where = _NAME
    if isinstance(source, str | os.PathLike):
        address = find(source, name=_NAME)
        source, where = _read(address, queries), f"{_NAME}: {address.path}"
    if isinstance(source, Relevance):
        return _checked(source, queries, targets)
    _refuse_transposed(source, where, queries, targets)
    found = _understood(source, where, queries)
    if isinstance(found, Pairs):
        rows = found.queries
        if not isinstance(rows, np.ndarray):
            rows = rows_of(rows, query_ids, count=queries, side="query", where=where)
        columns = rows_of(found.targets, target_ids, count=targets, side="target", where=where)
        return Relevance.from_pairs(
            rows, columns, queries=queries, gallery=targets, gains=found.gains, allow_empty=allow_empty
        )
    if found.dtype.kind == "b":
        if found.shape != (queries, targets):
            raise InputError(f"{where} has shape {found.shape}, but there are {queries} queries and {targets} targets.")
        return Relevance.from_pairs(*np.nonzero(found), queries=queries, gallery=targets, allow_empty=allow_empty)
    return Relevance.from_index(found, targets, queries=queries)


def _read(address: Address, queries: int) -> Any:
    """The file's contents in one of the forms that are understood in memory."""
    suffix = address.path.suffix.lower()
    if suffix in FORMATS or is_zarr(address.path):
        return read_column(address)
    check_is_file(address)
    check_extension(address, [*_PAIR_FILES, *FORMATS])
    check_not_empty(address)
    with guarded(address, "relevance"):
        return _PAIR_FILES[suffix](address, queries)


def _refuse_transposed(source: Any, where: str, queries: int, targets: int) -> None:
    """Stops an answer for each target where one for each query is wanted: a matrix that lies on its side."""
    flat = isinstance(source, np.ndarray) and source.ndim == 1
    listed = isinstance(source, list | tuple) and not any(isinstance(item, tuple) for item in source)
    if (flat or listed) and len(source) == targets != queries:
        raise InputError(
            f"there are {queries:,} queries and {targets:,} targets but {where} has {targets:,} entries, one for each "
            f"target; rows are queries, so this looks transposed: pass scores.T, or swap queries and targets."
        )


def _understood(source: Any, where: str, queries: int) -> Pairs | AnyArray:
    """Pairs to look up, an index (query,) or a boolean matrix (query, target)."""
    if isinstance(source, Pairs):
        return source
    if isinstance(source, Mapping):
        return from_mapping(source, where)
    if isinstance(source, list | tuple):
        return _from_list(source, where, queries)
    return _from_array(as_array(source, name=where), where, queries)


def _from_list(items: Sequence[Any], where: str, queries: int) -> Pairs | AnyArray:
    if not items:
        raise InputError(f"{where} is empty; give the relevant targets of {queries} queries.")
    if all(isinstance(item, tuple) for item in items):
        return from_tuples(items, where)
    if all(isinstance(item, str) for item in items):
        _check_one_each(len(items), queries, where)
        return Pairs(np.arange(queries), items)
    if all(isinstance(item, list | AbstractSet | np.ndarray) for item in items):
        _check_one_each(len(items), queries, where)
        rows = np.repeat(np.arange(queries), [len(item) for item in items])
        return Pairs(rows, [target for item in items for target in item])
    return _from_array(as_array(items, name=where), where, queries)


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


def _check_one_each(found: int, queries: int, where: str) -> None:
    if found != queries:
        raise InputError(
            f"{where} has {found} entries but there are {queries} queries; give one for each query, or pairs as tuples."
        )


def _checked(relevance: Relevance, queries: int, targets: int) -> Relevance:
    if (relevance.queries, relevance.gallery) != (queries, targets):
        raise InputError(
            f"{_NAME} is for {relevance.queries} queries and {relevance.gallery} targets, "
            f"but there are {queries} queries and {targets} targets."
        )
    return relevance
