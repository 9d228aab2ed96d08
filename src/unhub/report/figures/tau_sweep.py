"""How a metric depends on the temperature tau, for each method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.report.figures.captions import fitted
from unhub.report.figures.inputs import drawable, numbers, short, some
from unhub.report.figures.legend import legend_above
from unhub.report.figures.log_axis import ticks_at
from unhub.report.figures.style import COLUMN, INK, blank, look, series_style, settle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOM = 7
"""values of tau that can be named side by side in a column"""


def tau_sweep(
    taus: ArrayLike,
    values: Mapping[str, ArrayLike],
    intervals: Mapping[str, ArrayLike] | None = None,
    baseline: float | None = None,
    *,
    metric: str = "R@1",
    larger_is_better: bool = True,
    note: str = "",
) -> Figure:
    """One line for each method over tau on a log scale, its best value ringed and written out.

    taus: (n,), above zero, in any order; values: method -> (n,), NaN where there is none; intervals: method -> (n, 2),
    drawn as a band; baseline: the value without correction, a dashed line; note: a line below the axis.
    """
    places = numbers(taus, "taus")
    if not (places > 0).all():
        raise InputError("taus holds a value that is not above zero; a temperature is a positive number.")
    some(values, "values", "method")
    lines = {name: numbers(line, f"values of {name!r}", shape=places.shape) for name, line in values.items()}
    drawable(lines.values(), "values")
    bands = {
        name: numbers(band, f"intervals of {name!r}", shape=(places.size, 2))
        for name, band in (intervals or {}).items()
    }
    if strangers := sorted(set(bands) - set(lines)):
        raise InputError(f"intervals has {strangers[0]!r}, which values does not have; give both the same methods.")
    order = np.argsort(places)
    with look():
        figure = blank(COLUMN, 2.5)
        axes: Any = figure.subplots()
        handles = []
        for number, (name, line) in enumerate(lines.items()):
            band = bands[name][order] if name in bands else None
            handles.append(_line(axes, number, places[order], line[order], band, larger_is_better))
        if baseline is not None:
            handles.append(axes.axhline(baseline, color=INK, linestyle=(0, (2, 2)), linewidth=0.8, zorder=1))
        ticks_at(axes, places, lambda tau: f"{tau:.3g}", base=10, room=ROOM)
        axes.set_xlabel("temperature τ" + (f"\n{fitted(note, COLUMN - 0.5)}" if note else ""))
        axes.set_ylabel(fitted(metric, 1.6))
        axes.margins(y=0.12)
        legend_above(figure, handles, [*_legends(lines, places, larger_is_better), *_without(baseline)])
        settle(figure)
    return figure


def best_of(line: NDArray[np.float64], larger_is_better: bool) -> int | None:
    """Where the best value stands, the first of equals; None where all are missing."""
    if np.isnan(line).all():
        return None
    return int(np.nanargmax(line) if larger_is_better else np.nanargmin(line))


def _line(
    axes: Any,
    number: int,
    places: NDArray[np.float64],
    line: NDArray[np.float64],
    band: NDArray[np.float64] | None,
    larger_is_better: bool,
) -> Any:
    style = series_style(number)
    if band is not None:
        axes.fill_between(places, band[:, 0], band[:, 1], color=style.colour, alpha=0.15, linewidth=0)
    (handle,) = axes.plot(places, line, color=style.colour, marker=style.marker, linestyle=style.line)
    best = best_of(line, larger_is_better)
    if best is not None:
        ring = {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": style.colour, "markeredgewidth": 1.0}
        axes.plot(places[best], line[best], marker="o", linestyle="none", **ring)
    return handle


def _legends(lines: Mapping[str, NDArray[np.float64]], places: NDArray[np.float64], larger: bool) -> list[str]:
    said = []
    for name, line in lines.items():
        best = best_of(line, larger)
        said.append(name if best is None else f"{name}: best {short(line[best])} at τ = {places[best]:.3g}")
    return said


def _without(baseline: float | None) -> list[str]:
    return [] if baseline is None else [f"without correction: {short(baseline)}"]
