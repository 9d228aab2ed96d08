"""From ids or row numbers, as they are written in a file, to row numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import IntArray

_SHOWN = 5  # unknown ids named in an error
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def rows_of(tokens: Sequence[Any], ids: Sequence[str] | None, *, count: int, side: str, where: str) -> IntArray:
    """The rows that the tokens name.

    Numbers are row numbers, counted from 0. Text, as it stands in files, is ids if ids are known and at least
    one of the tokens is among them, and otherwise row numbers too. ``side`` is "query" or "target", ``count``
    is how many of these there are.
    """
    if all(isinstance(token, int | np.integer) for token in tokens):
        return np.array(tokens, dtype=np.int64)
    words = [str(token) for token in tokens]
    row_of = {item: row for row, item in enumerate(ids or ())}
    rows = [row_of.get(word, -1) for word in words]
    if not ids or all(row < 0 for row in rows):
        if all(_WHOLE.fullmatch(word) for word in words):
            return np.array([int(word) for word in words], dtype=np.int64)
        if not ids:
            raise InputError(_ids_needed(words, side, where))
    unknown = list(dict.fromkeys(word for word, row in zip(words, rows, strict=True) if row < 0))
    if unknown:
        shown = ", ".join(map(repr, unknown[:_SHOWN])) + (", ..." if len(unknown) > _SHOWN else "")
        raise InputError(
            f"{where} names {len(unknown):,} {side} ids that are not among those of the {count:,} "
            f"{plural(side)}: {shown}; leave these pairs out or give the matching {side} ids."
        )
    return np.array(rows, dtype=np.int64)


def plural(side: str) -> str:
    """The word for several of a side: queries, targets."""
    return {"query": "queries"}.get(side, f"{side}s")


def _ids_needed(words: list[str], side: str, where: str) -> str:
    odd = next(word for word in words if not _WHOLE.fullmatch(word))
    return (
        f"{where} names the {side} {odd!r}, but the {plural(side)} have no ids; "
        f"give {side} ids, or row numbers counted from 0."
    )
