"""What the size of the query bank changes: four panels over the share of the bank that is used."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.report.figures.captions import fitted
from unhub.report.figures.inputs import drawable, numbers, some
from unhub.report.figures.legend import legend_above
from unhub.report.figures.log_axis import ticks_at
from unhub.report.figures.style import BODY, PAGE, blank, look, series_style, settle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = ("R@1", "skew@1", "EMD to targets", "EMD to test queries")
ROOM = 5
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
    order = np.argsort(places)
    with look():
        figure = blank(PAGE, 2.1)
        handles: dict[str, Any] = {}
        grid: Any = figure.subplots(1, len(curves), squeeze=False)
        for axes, (title, panel) in zip(grid[0], curves.items(), strict=True):
            for name, (mean, spread) in panel.items():
                style = series_style(names.index(name))
                x, y, d = places[order], mean[order], spread[order]
                axes.fill_between(x, y - d, y + d, color=style.colour, alpha=0.18, linewidth=0)
                (line,) = axes.plot(x, y, color=style.colour, marker=style.marker, linestyle=style.line)
                handles.setdefault(name, line)
            axes.set_title(fitted(title, PAGE / len(curves) - 0.5, BODY))
            ticks_at(axes, places, share, base=2, room=ROOM)
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
