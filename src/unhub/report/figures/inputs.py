"""Numbers on their way to paper: checks, one sentence where they cannot be drawn, and how they are printed."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError


def numbers(values: ArrayLike, name: str, *, shape: tuple[int, ...] | None = None) -> NDArray[np.float64]:
    """The values as float64 of one axis or of the shape asked for; NaN is a value that is missing.

    >>> numbers([1, 2], "taus").tolist()
    [1.0, 2.0]
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} holds something that is not a number; give numbers, NaN where one is missing."
        ) from error
    if shape is None and (array.ndim != 1 or not array.size):
        raise InputError(f"{name} has shape {array.shape}; give a list of at least one number.")
    if shape is not None and array.shape != shape:
        raise InputError(f"{name} has shape {array.shape} but {shape} was expected; give one value for each.")
    if np.isinf(array).any():
        raise InputError(f"{name} holds an infinite value, which has no place on paper; give NaN where it is missing.")
    return array


def some(values: Collection[object], name: str, what: str) -> None:
    """Refuses to draw nothing."""
    if not len(values):
        raise InputError(f"{name} is empty; give at least one {what} to draw.")


def drawable(arrays: Collection[NDArray[np.float64]], name: str) -> None:
    """Refuses to draw what is missing altogether."""
    if not any(np.isfinite(array).any() for array in arrays):
        raise InputError(f"{name} has only missing values (NaN); there is nothing to draw.")


def short(value: float) -> str:
    """A value as it is printed: one decimal for percentages, three for small numbers.

    >>> short(48.0), short(0.4804)
    ('48.0', '0.480')
    """
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"
