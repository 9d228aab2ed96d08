"""From loose (query, target) pairs to compressed rows, sorted and without repeats."""

from __future__ import annotations

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray, FloatArray, IntArray
from unhub.metrics.row_numbers import check_targets, name_rows


def compress(
    rows: IntArray, targets: IntArray, gains: FloatArray, *, queries: int, gallery: int, allow_empty: bool
) -> tuple[IntArray, IntArray, FloatArray]:
    """indptr (query + 1,), targets and gains (total,): the pairs sorted by query, then target.

    A pair that comes twice counts once; with two different gains it is an error.
    """
    check_targets(targets, rows, gallery)
    order = np.lexsort((targets, rows))
    rows, targets, gains = rows[order], targets[order], gains[order]
    repeated = np.zeros(rows.size, dtype=bool)
    repeated[1:] = (rows[1:] == rows[:-1]) & (targets[1:] == targets[:-1])
    clash = np.flatnonzero(repeated[1:] & (gains[1:] != gains[:-1]))
    if clash.size:
        at = int(clash[0])
        raise InputError(
            f"the pair of query {rows[at]} and target {targets[at]} comes with two gains, "
            f"{gains[at]:g} and {gains[at + 1]:g}; keep one"
        )
    rows, targets, gains = rows[~repeated], targets[~repeated], gains[~repeated]
    counts = np.bincount(rows, minlength=queries)
    if not allow_empty:
        check_judged(counts)
    return np.concatenate(([0], np.cumsum(counts))), targets, gains


def check_judged(counts: IntArray) -> None:
    """Nothing, or a sentence that names the queries without a relevant target."""
    empty = counts == 0
    if empty.any():
        raise InputError(
            f"{np.count_nonzero(empty)} of {counts.size} queries have no relevant target "
            f"({name_rows(empty, 'query')}); give each at least one, leave these queries out, "
            f"or pass allow_empty=True (--allow-empty)"
        )


def pairs_with_equal_labels(query_labels: AnyArray, target_labels: AnyArray) -> tuple[IntArray, IntArray]:
    """The query rows and target rows of every pair whose labels are equal."""
    if query_labels.ndim != 1 or target_labels.ndim != 1:
        raise InputError(
            f"labels must be flat, one for each item, but have shapes {query_labels.shape} and {target_labels.shape}"
        )
    if (query_labels.dtype.kind in "US") != (target_labels.dtype.kind in "US"):
        raise InputError(
            f"query labels are {query_labels.dtype} and target labels are {target_labels.dtype}; "
            f"give both as text or both as numbers"
        )
    by_label = np.argsort(target_labels, kind="stable")
    low = np.searchsorted(target_labels, query_labels, side="left", sorter=by_label)
    high = np.searchsorted(target_labels, query_labels, side="right", sorter=by_label)
    counts = high - low
    first_entry = np.cumsum(counts) - counts
    rows = np.repeat(np.arange(query_labels.size), counts)
    places = np.arange(rows.size) + np.repeat(low - first_entry, counts)
    return rows, by_label[places]
