"""Logarithmic axes with plain numbers: matplotlib's own labels are formulas, which these figures never read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unhub.foundation.optional import require


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
