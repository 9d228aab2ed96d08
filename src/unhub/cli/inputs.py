"""What flags name beyond a plain matrix: the right answers, and weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.io import open_rows, read_ids, relevance_from_labels
from unhub.io.address import SEPARATOR, find
from unhub.io.columns import read_column

DIAGONAL, LABELS = "diagonal", "labels:"
_TEXTS = (".txt", ".csv", ".tsv", ".json")
_ARRAYS = (".npy", ".npz")


def relevance(text: str, shape: tuple[int, int]) -> Any:
    """What ``--relevant`` means, as the façades take it: rows, a path, or the relevance of two files of labels.

    shape: (queries, targets). Arrays are read here, so that a list as long as the gallery is seen for what it is.
    """
    if text == DIAGONAL:
        return _diagonal(*shape)
    if text.startswith(LABELS):
        own, _, others = text.removeprefix(LABELS).partition(",")
        return relevance_from_labels(own, others or None)
    if _ending(text) not in _ARRAYS:
        return text
    found = read_column(find(text, name="relevant"))
    if found.ndim == 1 and len(found) == shape[1] != shape[0]:
        raise InputError(
            f"there are {shape[0]:,} queries and {shape[1]:,} targets but relevant has {len(found):,} entries, one for "
            f"each target; rows are queries, so this looks transposed: turn the matrix, or swap queries and targets."
        )
    return found


def sizes(sources: dict[str, Any]) -> tuple[int, int]:
    """How many queries and targets an evaluation has; files are only opened for it."""
    if "scores" in sources:
        return open_rows(sources["scores"], name="scores").shape
    for name in ("queries", "targets"):
        if name not in sources:
            raise InputError(f"{name} is missing; give --queries and --targets, or a matrix of --scores.")
    queries, targets = (open_rows(sources[name], name=name).shape[0] for name in ("queries", "targets"))
    return queries, targets


def weights(path: str, name: str) -> FloatArray:
    """The numbers of a file, one in each row, for ``--query-weight`` and ``--target-prior``."""
    values = np.array(read_ids(path, name=name)) if _ending(path) in _TEXTS else read_column(find(path, name=name))
    try:
        numbers: FloatArray = values.astype(np.float64)
    except ValueError as error:
        raise InputError(f"{name}: {path} holds something that is not a number ({error}); give weights.") from None
    return numbers


def with_weights(given: dict[str, Any]) -> dict[str, Any]:
    """The flags, with files of weights read."""
    return given | {name: weights(given[name], name) for name in ("query_weight", "target_prior") if name in given}


def _ending(text: str) -> str:
    return Path(text.partition(SEPARATOR)[0]).suffix.lower()


def _diagonal(queries: int, targets: int) -> Any:
    if queries != targets:
        raise InputError(
            f"relevant is 'diagonal' (query i means target i), but there are {queries:,} queries and {targets:,} "
            f"targets; give a file that says which are right."
        )
    return np.arange(queries)
