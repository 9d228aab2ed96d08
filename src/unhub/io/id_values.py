"""Ids as text, from whatever they were stored as."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.shown import shown


def id_strings(values: Any, subject: str) -> tuple[str, ...]:
    """The ids as strings; whole numbers become their digits. Errors begin with ``subject``.

    >>> id_strings(np.array([7, 8]), "ids")
    ('7', '8')
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{subject} has shape {array.shape}; ids are one column: one id for each row.")
    if array.dtype.kind in "iu":
        return tuple(map(str, array.tolist()))
    if array.dtype.kind in "UT":
        return _whole(tuple(map(str, array.tolist())), subject)
    return listed_ids(array.tolist(), subject)


def _one(value: object, row: int, subject: str) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, bool) or not isinstance(value, str | int | float | np.integer):
        raise InputError(f"{subject} has {shown(value)} as id of row {row} (rows count from 0); give text or a number.")
    if isinstance(value, float):
        if not value.is_integer():
            raise InputError(
                f"{subject} has {shown(value)} as id of row {row} (rows count from 0); give text or a number."
            )
        return str(int(value))
    return str(value)


def listed_ids(values: Iterable[Any], subject: str) -> tuple[str, ...]:
    """The ids of a list that may mix text and numbers."""
    return _whole(tuple(_one(value, row, subject) for row, value in enumerate(values)), subject)


def _whole(ids: tuple[str, ...], subject: str) -> tuple[str, ...]:
    """The ids, if all can be written as UTF-8: JSON can hold half of a character, which no file of text can."""
    try:
        "".join(ids).encode()
    except UnicodeEncodeError as error:
        row, text = next((row, text) for row, text in enumerate(ids) if _is_broken(text))
        raise InputError(
            f"{subject} has {shown(text)} as id of row {row} (rows count from 0), and a part of it is half of a "
            "character (a lone surrogate); write the ids again as UTF-8 text."
        ) from error
    return ids


def _is_broken(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
