"""What flags name beyond a plain matrix: the right answers, and weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.io import open_rows, read_ids, relevance_from_labels
from unhub.io.address import find
from unhub.io.columns import read_column

DIAGONAL, LABELS = "diagonal", "labels:"
_TEXTS = (".txt", ".csv", ".tsv", ".json")


def relevance(text: str, sources: dict[str, Any]) -> Any:
    """What ``--relevant`` means, as the façades take it: a path, rows, or the relevance of two files of labels."""
    if text == DIAGONAL:
        return _diagonal(sources)
    if text.startswith(LABELS):
        own, _, others = text.removeprefix(LABELS).partition(",")
        return relevance_from_labels(own, others or None)
    return text


def weights(path: str, name: str) -> FloatArray:
    """The numbers of a file, one in each row, for ``--query-weight`` and ``--target-prior``."""
    if Path(path).suffix.lower() not in _TEXTS:
        values = read_column(find(path, name=name))
    else:
        values = np.array(read_ids(path, name=name))
    try:
        numbers: FloatArray = values.astype(np.float64)
    except ValueError as error:
        raise InputError(f"{name}: {path} holds something that is not a number ({error}); give weights.") from None
    return numbers


def with_weights(given: dict[str, Any]) -> dict[str, Any]:
    """The flags with files of weights read."""
    return given | {name: weights(given[name], name) for name in ("query_weight", "target_prior") if name in given}


def _diagonal(sources: dict[str, Any]) -> Any:
    """Query i -> target i, if there are as many of the one as of the other."""
    if "scores" in sources:
        queries, targets = open_rows(sources["scores"], name="scores").shape
    elif "queries" in sources and "targets" in sources:
        queries, targets = (open_rows(sources[name], name=name).shape[0] for name in ("queries", "targets"))
    else:
        return np.arange(0)  # the façade says what is missing
    if queries != targets:
        raise InputError(
            f"relevant is 'diagonal' (query i means target i), but there are {queries:,} queries and {targets:,} "
            f"targets; give a file that says which are right."
        )
    return np.arange(queries)
