"""Numbers on their way to a figure: checks, how they are printed, and logarithmic axes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require


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


def plain_log(axis: Any) -> None:
    """Powers of ten as whole numbers on an axis that is logarithmic already; no labels between them."""
    ticker = require("matplotlib.ticker", extra="figures")
    axis.set_major_locator(ticker.LogLocator(numticks=6))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def ticks_at(axes: Any, places: NDArray[np.float64], named: Callable[[float], str], *, base: float, room: int) -> None:
    """A logarithmic x axis with ticks at the places measured, of which at most ``room`` are named."""
    axes.set_xscale("log", base=base)
    ordered = np.unique(places)
    step = -(-len(ordered) // room)
    labels = [named(float(value)) if (len(ordered) - 1 - at) % step == 0 else "" for at, value in enumerate(ordered)]
    axes.set_xticks(ordered, labels)
    axes.xaxis.set_minor_locator(require("matplotlib.ticker", extra="figures").NullLocator())


def count_edges(most: int, bars: int) -> NDArray[np.float64]:
    """Edges of at most ``bars`` bars for counts from 0 to ``most``: whole numbers wide and half a number off.

    >>> count_edges(3, 4).tolist()
    [-0.5, 0.5, 1.5, 2.5, 3.5]
    """
    wide = -(-(most + 1) // bars)
    return np.arange(0, most + 1 + wide, wide, dtype=np.float64) - 0.5
