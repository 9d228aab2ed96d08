"""How a metric depends on the temperature, and on the size of the query bank."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.reports.figures.axes import numbers, refuse_empty, refuse_missing, short, ticks_at
from unhub.reports.figures.captions import fitted, legend_above
from unhub.reports.figures.style import BODY, COLUMN, PAGE, blank, look, settle
from unhub.reports.palette import BASELINE, series_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TAUS_NAMED, SHARES_NAMED = 7, 5
"""labels that fit below the axis: of temperatures in a column, of shares in one of four panels"""
PANELS = ("R@1", "skew@1", "EMD to targets", "EMD to test queries")
Curves = Mapping[str, tuple[ArrayLike, ArrayLike]]


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
    drawn as a band; baseline: the value with no correction, a dashed line; note: a line below the axis.
    """
    places = _positive(taus, "taus", "a temperature is a positive number")
    refuse_empty(values, "values", "method")
    lines = {name: numbers(line, f"values of {name!r}", shape=places.shape) for name, line in values.items()}
    refuse_missing(lines.values(), "values")
    shape = (places.size, 2)
    bands = {name: numbers(band, f"intervals of {name!r}", shape=shape) for name, band in (intervals or {}).items()}
    if strangers := sorted(set(bands) - set(lines)):
        raise InputError(f"intervals has {strangers[0]!r}, which values does not have; give both the same methods.")
    order = np.argsort(places)
    with look():
        figure = blank(COLUMN, 2.5)
        axes: Any = figure.subplots()
        handles, key = [], []
        for style, (name, line) in zip(series_styles(lines), lines.items(), strict=True):
            if name in bands:
                low, high = bands[name][order].T
                axes.fill_between(places[order], low, high, color=style.colour, alpha=0.15, linewidth=0)
            handles += axes.plot(
                places[order], line[order], color=style.colour, marker=style.marker, linestyle=style.line
            )
            key.append(name)
            if not np.isnan(line).all():
                best = int(np.nanargmax(line[order] if larger_is_better else -line[order]))
                tau, value = places[order][best], line[order][best]
                key[-1] = f"{name}: best {short(value)} at τ = {tau:.3g}"
                ring = {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": style.colour}
                axes.plot(tau, value, marker="o", linestyle="none", markeredgewidth=1.0, **ring)
        if baseline is not None:
            handles.append(axes.axhline(baseline, **BASELINE, zorder=1))
            key.append(f"no correction: {short(baseline)}")
        ticks_at(axes, places, lambda tau: f"{tau:.3g}", base=10, room=TAUS_NAMED)
        axes.set_xlabel("temperature τ" + (f"\n{fitted(note, COLUMN - 0.5)}" if note else ""))
        axes.set_ylabel(fitted(metric, 1.6))
        axes.margins(y=0.12)
        legend_above(figure, handles, key)
        settle(figure)
    return figure


def bank_size(ratios: ArrayLike, panels: Mapping[str, Curves], *, whole: int | None = None) -> Figure:
    """One panel for each of up to four quantities, such as those in ``PANELS``, over a shared log2 axis.

    ratios: (n,), the share of the bank that is used, above zero; panels: title -> method -> mean and spread over the
    draws, (n,) each, the spread drawn as a band. A method looks the same in all panels. NaN is a gap. whole: how many
    queries the whole bank has.
    """
    places = _positive(ratios, "ratios", "give the share of the bank that is used")
    refuse_empty(panels, "panels", "panel")
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
            for name, pair in panel.items():
                style = styles[name]
                x, y, d = places[order], pair[0][order], pair[1][order]
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
    """A ratio as a simple fraction if it is one, otherwise as a decimal number.

    >>> share(0.0625), share(1.0), share(0.3333)
    ('1/16', '1', '1/3')
    """
    near = Fraction(ratio).limit_denominator(1024)
    return str(near) if near.numerator == 1 and abs(float(near) - ratio) < 1e-3 * ratio else f"{ratio:.3g}"


def _positive(values: ArrayLike, name: str, advice: str) -> NDArray[np.float64]:
    places = numbers(values, name)
    if not (places > 0).all():
        raise InputError(f"{name} holds a value that is not above zero; {advice}.")
    return places


def _checked(title: str, panel: Curves, places: NDArray[np.float64]) -> dict[str, list[NDArray[np.float64]]]:
    """Mean and spread of each method as checked arrays."""
    refuse_empty(panel, f"panel {title!r}", "method")
    for name, pair in panel.items():
        if len(pair) != 2:
            raise InputError(f"{title!r} of {name!r} has {len(pair)} entries; give the mean and the spread.")
    checked = {
        name: [numbers(part, f"{title!r} of {name!r}", shape=places.shape) for part in pair]
        for name, pair in panel.items()
    }
    refuse_missing([mean for mean, _ in checked.values()], f"panel {title!r}")
    return checked
