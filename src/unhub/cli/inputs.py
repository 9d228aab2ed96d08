"""What flags name beyond a plain matrix: the right answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.io import open_rows, relevance_from_labels

DIAGONAL, LABELS = "diagonal", "labels:"


def relevance(text: str, shape: tuple[int, int]) -> Any:
    """What ``--relevant`` means, as the façades take it: rows, a path, or the relevance of two files of labels.

    shape: (queries, targets).
    """
    if text == DIAGONAL:
        return _diagonal(*shape)
    if text.startswith(LABELS):
        own, _, others = text.removeprefix(LABELS).partition(",")
        both_in_one = own.partition("::")[0].endswith(".npz") and not others
        return relevance_from_labels(own, None if both_in_one else others or own)
    return text


def sizes(sources: dict[str, Any]) -> tuple[int, int]:
    """How many queries and targets an evaluation has; files are only opened for it."""
    if "scores" in sources:
        return open_rows(sources["scores"], name="scores").shape
    for name in ("queries", "targets"):
        if name not in sources:
            raise InputError(f"{name} is missing; give --queries and --targets, or a matrix of --scores.")
    queries, targets = (open_rows(sources[name], name=name).shape[0] for name in ("queries", "targets"))
    return queries, targets


def _diagonal(queries: int, targets: int) -> Any:
    if queries != targets:
        raise InputError(
            f"relevant is 'diagonal' (query i means target i), but there are {queries:,} queries and {targets:,} "
            f"targets; give a file that says which are right."
        )
    return np.arange(queries)
