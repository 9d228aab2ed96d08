"""What unhub can work with: two dimensions, real numbers, at least one row."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.foundation.errors import InputError

NUMBERS = "fiu"
TEXT = "USTO"

_KINDS = {
    "b": "true/false values",
    "U": "text",
    "S": "text",
    "T": "text",
    "O": "Python objects",
    "c": "complex numbers",
    "V": "records",
    "M": "dates",
    "m": "times",
}


def check_matrix(subject: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """An error, beginning with ``subject``, unless this is a matrix of numbers with rows and columns."""
    check_numbers(subject, dtype)
    if len(shape) != 2:
        raise InputError(f"{subject} has shape {shape}, not two dimensions; give one row per item: (rows, columns).")
    if shape[0] == 0:
        raise InputError(f"{subject} has shape {shape}: there are no rows; give at least one.")
    if shape[1] == 0:
        raise InputError(f"{subject} has shape {shape}: the rows have dimension 0; give at least one column.")


def check_numbers(subject: str, dtype: np.dtype[Any]) -> None:
    """An error, beginning with ``subject``, unless these are real numbers."""
    if dtype.kind not in NUMBERS:
        held = _KINDS.get(dtype.kind, "values")
        raise InputError(f"{subject} holds {held} (dtype {dtype}), not numbers; convert them to float32.")


def numpy_floats(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same numbers in a type NumPy knows: bfloat16, which it does not, becomes float32."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array
