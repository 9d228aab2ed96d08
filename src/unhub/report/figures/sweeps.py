"""How a metric depends on the temperature, and on the size of the query bank."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.report.figures.axes import drawable, numbers, short, some, ticks_at
from unhub.report.figures.captions import fitted, legend_above
from unhub.report.figures.style import BODY, COLUMN, INK, PAGE, blank, look, settle
from unhub.report.palette import SeriesStyle, series_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TAUS_NAMED = 7
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
        for style, (name, line) in zip(series_styles(lines), lines.items(), strict=True):
            band = bands[name][order] if name in bands else None
            handles.append(_tau_line(axes, style, places[order], line[order], band, larger_is_better))
        if baseline is not None:
            handles.append(axes.axhline(baseline, color=INK, linestyle=(0, (2, 2)), linewidth=0.8, zorder=1))
        ticks_at(axes, places, lambda tau: f"{tau:.3g}", base=10, room=TAUS_NAMED)
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


def _tau_line(
    axes: Any,
    style: SeriesStyle,
    places: NDArray[np.float64],
    line: NDArray[np.float64],
    band: NDArray[np.float64] | None,
    larger_is_better: bool,
) -> Any:
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


PANELS = ("R@1", "skew@1", "EMD to targets", "EMD to test queries")
SHARES_NAMED = 5
"""shares that can be named under one panel"""

Curves = Mapping[str, tuple[ArrayLike, ArrayLike]]


def bank_size(ratios: ArrayLike, panels: Mapping[str, Curves], *, whole: int | None = None) -> Figure:
    """One panel for each of up to four quantities, such as those in ``PANELS``, over a log2 axis that all share.

    ratios: (n,), the part of the bank that is used, above zero; panels: title -> method -> mean and spread over the
    draws, (n,) each; the spread is drawn as a band above and below. A method has the same look in all panels. NaN is
    a gap. whole: how many queries the whole bank has.
    """
    places = numbers(ratios, "ratios")
    if not (places > 0).all():
        raise InputError("ratios holds a value that is not above zero; give the part of the bank that is used.")
    some(panels, "panels", "panel")
    if len(panels) > len(PANELS):
        raise InputError(f"panels has {len(panels)} entries; at most {len(PANELS)} can be read side by side.")
    curves = {title: _checked(title, panel, places) for title, panel in panels.items()}
    names = list(dict.fromkeys(name for panel in curves.values() for name in panel))
    styles = dict(zip(names, series_styles(names), strict=True))
    order = np.argsort(places)
    with look():
        figure = blank(PAGE, 2.1)
        handles: dict[str, Any] = {}
        grid: Any = figure.subplots(1, len(curves), squeeze=False)
        for axes, (title, panel) in zip(grid[0], curves.items(), strict=True):
            for name, (mean, spread) in panel.items():
                style = styles[name]
                x, y, d = places[order], mean[order], spread[order]
                axes.fill_between(x, y - d, y + d, color=style.colour, alpha=0.18, linewidth=0)
                (line,) = axes.plot(x, y, color=style.colour, marker=style.marker, linestyle=style.line)
                handles.setdefault(name, line)
            axes.set_title(fitted(title, PAGE / len(curves) - 0.5, BODY))
            ticks_at(axes, places, share, base=2, room=SHARES_NAMED)
            axes.locator_params(axis="y", nbins=5, min_n_ticks=3)
        queries = "" if whole is None else f" of {whole:,} queries"
        figure.supxlabel(f"share of the query bank{queries}", size=BODY)
        legend_above(figure, [handles[name] for name in names], names)
        settle(figure)
    return figure


def share(ratio: float) -> str:
    """A ratio as it is best read: a fraction of small numbers, otherwise a decimal number.

    >>> share(0.0625), share(1.0), share(0.3333)
    ('1/16', '1', '1/3')
    """
    near = Fraction(ratio).limit_denominator(1024)
    return str(near) if near.numerator == 1 and abs(float(near) - ratio) < 1e-3 * ratio else f"{ratio:.3g}"


def _checked(
    title: str, panel: Curves, places: NDArray[np.float64]
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    some(panel, f"panel {title!r}", "method")
    checked = {}
    for name, pair in panel.items():
        if len(pair) != 2:
            raise InputError(f"{title!r} of {name!r} has {len(pair)} entries; give the mean and the spread.")
        mean, spread = (numbers(part, f"{title!r} of {name!r}", shape=places.shape) for part in pair)
        checked[name] = (mean, spread)
    drawable([mean for mean, _ in checked.values()], f"panel {title!r}")
    return checked
