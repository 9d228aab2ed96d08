"""Checked numbers, how they are printed, and logarithmic axes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require


def numbers(values: ArrayLike, name: str, *, shape: tuple[int, ...] | None = None) -> NDArray[np.float64]:
    """The values as float64, with one axis or the given shape; NaN means missing.

    >>> numbers([1, 2], "taus").tolist()
    [1.0, 2.0]
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        advice = "give numbers, NaN where one is missing."
        raise InputError(f"{name} holds something that is not a number; {advice}") from error
    if shape is None and (array.ndim != 1 or not array.size):
        raise InputError(f"{name} has shape {array.shape}; give a list of at least one number.")
    if shape is not None and array.shape != shape:
        raise InputError(f"{name} has shape {array.shape} but {shape} was expected; give one value for each.")
    if np.isinf(array).any():
        raise InputError(f"{name} holds an infinite value, which cannot be drawn; give NaN where it is missing.")
    return array


def refuse_empty(values: Collection[object], name: str, what: str) -> None:
    """Refuses to draw nothing."""
    if not len(values):
        raise InputError(f"{name} is empty; give at least one {what} to draw.")


def refuse_missing(arrays: Collection[NDArray[np.float64]], name: str) -> None:
    """Refuses values that are all missing."""
    if not any(np.isfinite(array).any() for array in arrays):
        raise InputError(f"{name} has only missing values (NaN); there is nothing to draw.")


def short(value: float) -> str:
    """A value as it is printed: one decimal for percentages, three for small numbers.

    >>> short(48.0), short(0.4804)
    ('48.0', '0.480')
    """
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def plain_log(axis: Any, *, ticks: int = 6, form: str = ",.10g") -> None:
    """Powers of ten as plain numbers on an axis that is already logarithmic; no labels between them."""
    ticker = require("matplotlib.ticker", extra="figures")
    axis.set_major_locator(ticker.LogLocator(numticks=ticks))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: format(value, form)))
    axis.set_minor_formatter(ticker.NullFormatter())


def ticks_at(axes: Any, places: ArrayLike, named: Callable[[float], str], *, base: float, room: int) -> None:
    """A logarithmic x axis with ticks at these places, at most ``room`` of them labelled, the last one always."""
    axes.set_xscale("log", base=base)
    ordered = np.unique(places)
    step = -(-len(ordered) // room)
    labels = [named(float(value)) if (len(ordered) - 1 - at) % step == 0 else "" for at, value in enumerate(ordered)]
    axes.set_xticks(ordered, labels)
    axes.xaxis.set_minor_locator(require("matplotlib.ticker", extra="figures").NullLocator())


def count_edges(most: int, bars: int) -> NDArray[np.float64]:
    """Edges of at most ``bars`` bars for counts from 0 to ``most``, each a whole number wide, centred on counts.

    >>> count_edges(3, 4).tolist()
    [-0.5, 0.5, 1.5, 2.5, 3.5]
    """
    wide = -(-(most + 1) // bars)
    return np.arange(0, most + 1 + wide, wide, dtype=np.float64) - 0.5
