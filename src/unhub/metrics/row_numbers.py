"""Checks of row numbers at the door: whole, counted from 0, inside what they point into."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.foundation.types import BoolArray, IntArray

SHOWN = 5  # how many offenders a sentence names before it only counts them


def whole_numbers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """The values as a 1-D int64 array, or a sentence that says what came instead.

    >>> whole_numbers([2, 0, 1], "relevant").tolist()
    [2, 0, 1]
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} must be a flat list of row numbers, but its items differ in length") from error
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1:
        raise InputError(f"{name} must be a flat list of row numbers, but has shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise InputError(
            f"{name} must hold whole numbers, rows counted from 0, but came as {array.dtype} "
            f"(first value: {array[0]!s}); convert it with .astype(int) if they are whole"
        )
    return array.astype(np.int64)


def check_targets(targets: IntArray, queries: IntArray, gallery: int) -> None:
    """Nothing, or a sentence that names the query, its target and the size of the gallery."""
    wrong = np.flatnonzero((targets < 0) | (targets >= gallery))
    if not wrong.size:
        return
    query, target = int(queries[wrong[0]]), int(targets[wrong[0]])
    if target < 0:
        raise InputError(
            f"the relevant target of query {query} is {target}, which is negative; targets are counted from 0"
        )
    sentence = (
        f"the relevant target of query {query} is {target}, but the gallery has {gallery} targets, "
        f"numbered 0 to {gallery - 1}"
    )
    if targets.min() == 1 and targets.max() == gallery:
        sentence += "; this looks 1-based: subtract 1"
    raise InputError(sentence)


def check_rows(rows: IntArray, size: int, name: str, unit: str) -> None:
    """Nothing, or a sentence that names the first position whose number is outside 0 .. size-1."""
    wrong = np.flatnonzero((rows < 0) | (rows >= size))
    if wrong.size:
        raise InputError(f"{name}[{wrong[0]}] is {rows[wrong[0]]}, but there are {size} {unit}, counted from 0")


def check_length(length: int, queries: int | None) -> None:
    """Nothing, or a sentence that gives both lengths."""
    if queries is not None and length != queries:
        raise InputError(f"relevant has {length} entries but there are {queries} queries; give one for each query")


def name_rows(wrong: BoolArray, unit: str) -> str:
    """The marked rows in words: the first few by number, the rest by count.

    >>> name_rows(np.array([False, True, True]), "query")
    'query 1, 2'
    """
    rows = np.flatnonzero(wrong)
    named = ", ".join(str(row) for row in rows[:SHOWN])
    return f"{unit} {named}" + (f" and {rows.size - SHOWN} more" if rows.size > SHOWN else "")
