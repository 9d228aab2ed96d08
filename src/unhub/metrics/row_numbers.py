"""Row numbers: checked (whole, from 0, within range), and pairs of them as compressed rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray, BoolArray, FloatArray, IntArray
from unhub.foundation.wording import setting

SHOWN = 5  # rows that an error names; the others are only counted


def whole_numbers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """The values as a 1-D int64 array, or an error.

    >>> whole_numbers([2, 0, 1], "relevant").tolist()
    [2, 0, 1]
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(name, "must be a flat list of row numbers, but its items differ in length") from error
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1:
        raise InputError(name, f"must be a flat list of row numbers, but has shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise InputError(
            name,
            f"must hold whole numbers, rows counted from 0, but came as {array.dtype} (first value: {array[0]!s})",
            "convert it with .astype(int) if they are whole",
        )
    return array.astype(np.int64)


def check_targets(targets: IntArray, queries: IntArray, gallery: int, name: str = "relevant") -> None:
    """Refuses targets outside the gallery; name: the argument that names them."""
    wrong = np.flatnonzero((targets < 0) | (targets >= gallery))
    if not wrong.size:
        return
    query, target = int(queries[wrong[0]]), int(targets[wrong[0]])
    came = f"names target {target} for query {query}"
    if target < 0:
        raise InputError(name, f"{came}, which is negative", "targets are counted from 0")
    one_based = targets.min() == 1 and targets.max() == gallery
    raise InputError(
        name,
        f"{came}, but the gallery has {gallery} targets, numbered 0 to {gallery - 1}",
        "this looks 1-based: subtract 1" if one_based else "",
    )


def check_queries(rows: IntArray, queries: int, name: str = "relevant") -> None:
    """Refuses row numbers of queries that do not exist."""
    wrong = np.flatnonzero((rows < 0) | (rows >= queries))
    if wrong.size:
        raise InputError(name, f"names query {rows[wrong[0]]}, but there are {queries} queries, counted from 0")


def check_length(length: int, queries: int | None, name: str = "relevant") -> None:
    """Refuses relevance of another number of queries."""
    if queries is not None and length != queries:
        raise InputError(name, f"has {length} entries but there are {queries} queries", "give one for each query")


def name_rows(wrong: BoolArray, unit: str) -> str:
    """The marked rows in words: the first few by number, the rest by count.

    >>> name_rows(np.array([False, True, True]), "query")
    'query 1, 2'
    """
    rows = np.flatnonzero(wrong)
    named = ", ".join(str(row) for row in rows[:SHOWN])
    return f"{unit} {named}" + (f" and {rows.size - SHOWN} more" if rows.size > SHOWN else "")


def compress(
    rows: IntArray,
    targets: IntArray,
    gains: FloatArray,
    *,
    queries: int,
    gallery: int,
    allow_empty: bool,
    name: str = "relevant",
) -> tuple[IntArray, IntArray, FloatArray]:
    """indptr (query + 1,), targets and gains (total,): the pairs sorted by query, then target.

    A pair that comes twice counts once; with two different gains it is an error.
    """
    check_targets(targets, rows, gallery, name)
    order = np.lexsort((targets, rows))
    rows, targets, gains = rows[order], targets[order], gains[order]
    repeated = np.zeros(rows.size, dtype=bool)
    repeated[1:] = (rows[1:] == rows[:-1]) & (targets[1:] == targets[:-1])
    clash = np.flatnonzero(repeated[1:] & (gains[1:] != gains[:-1]))
    if clash.size:
        at = int(clash[0])
        raise InputError(
            f"the pair of query {rows[at]} and target {targets[at]} comes with two gains, "
            f"{gains[at]:g} and {gains[at + 1]:g}; keep one."
        )
    rows, targets, gains = rows[~repeated], targets[~repeated], gains[~repeated]
    counts = np.bincount(rows, minlength=queries)
    if not allow_empty:
        check_judged(counts)
    return np.concatenate(([0], np.cumsum(counts))), targets, gains


def check_judged(counts: IntArray) -> None:
    """Refuses queries without a relevant target."""
    empty = counts == 0
    if empty.any():
        raise InputError(
            f"{np.count_nonzero(empty)} of {counts.size} queries have no relevant target "
            f"({name_rows(empty, 'query')}); give each at least one, leave these queries out, "
            f"or pass {setting('allow_empty', True)}."
        )


def pairs_with_equal_labels(query_labels: AnyArray, target_labels: AnyArray) -> tuple[IntArray, IntArray]:
    """The query rows and target rows of every pair whose labels are equal."""
    if query_labels.ndim != 1 or target_labels.ndim != 1:
        raise InputError(
            f"labels must be flat, one for each item, but have shapes {query_labels.shape} and {target_labels.shape}."
        )
    if (query_labels.dtype.kind in "US") != (target_labels.dtype.kind in "US"):
        raise InputError(
            f"query labels are {query_labels.dtype} and target labels are {target_labels.dtype}; "
            f"give both as text or both as numbers."
        )
    by_label = np.argsort(target_labels, kind="stable")
    low = np.searchsorted(target_labels, query_labels, side="left", sorter=by_label)
    high = np.searchsorted(target_labels, query_labels, side="right", sorter=by_label)
    counts = high - low
    first_entry = np.cumsum(counts) - counts
    rows = np.repeat(np.arange(query_labels.size), counts)
    places = np.arange(rows.size) + np.repeat(low - first_entry, counts)
    return rows, by_label[places]
