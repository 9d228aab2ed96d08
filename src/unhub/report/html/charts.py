"""The pictures of a report, each with its words for those who do not see it."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.analysis.model import Convergence, HeatMap, Lorenz, Occurrence, Spread, Sweep
from unhub.foundation.optional import require
from unhub.report.figures.axes import count_edges, plain_log
from unhub.report.html.formats import percent
from unhub.report.html.svg import AFTER, BEFORE, QUIET, canvas, drawing, inline
from unhub.report.palette import MAP, series_styles

BARS = 24
"""bars of a histogram, at most"""
DASHED = (0, (4, 2))
LOGARITHMIC = ("tau", "bank-size", "iterations")
AXES = {
    "tau": "temperature τ", "strength": "strength of the correction", "iterations": "rounds",
    "bank-size": "part of the bank that is used", "bank-source": "distance of the bank from the test queries (EMD)",
}  # fmt: skip


def occurrence(found: Occurrence, name: str) -> str:
    """How many targets are retrieved how often, before and after, both on a log scale where it helps."""
    key = f"occurrence-{found.k}"
    with drawing(key):
        figure, axes = canvas()
        edges = count_edges(max(found.before.largest, found.after.largest), BARS)
        for spread, colour, line, label, fill in (
            (found.before, BEFORE, DASHED, "no correction", 0.16),
            (found.after, AFTER, "-", name, 0.0),
        ):
            heights = _heights(spread, edges)
            if fill:
                axes.stairs(heights, edges, fill=True, color=colour, alpha=fill, linewidth=0)
            axes.stairs(heights, edges, color=colour, linestyle=line, linewidth=1.6, label=label, baseline=None)
        axes.set_yscale("log")
        axes.set_ylim(0.6, None)
        axes.set_xlim(edges[0], edges[-1])
        plain_log(axes.yaxis)
        places = "first" if found.k == 1 else f"among the first {found.k}"
        axes.set(xlabel=f"queries that have the target {places}", ylabel="targets (log scale)")
        axes.grid(axis="x", visible=False)
        figure.legend(loc="outside upper right", ncols=2, handlelength=2.2)
        return inline(figure, key, _occurrence_text(found, name))


def lorenz(found: Lorenz, name: str) -> str:
    """Which share of the places the least retrieved targets have."""
    with drawing("lorenz"):
        figure, axes = canvas()
        targets = 100 * np.array(found.targets)
        axes.plot([0, 100], [0, 100], color=QUIET, linewidth=1, linestyle=(0, (1, 2)), label="all the same")
        axes.plot(targets, 100 * np.array(found.before), color=BEFORE, linestyle=DASHED, label="no correction")
        axes.plot(targets, 100 * np.array(found.after), color=AFTER, label=name)
        axes.set(xlim=(0, 100), ylim=(0, 100), xlabel="targets, least retrieved first (%)")
        axes.set_ylabel("share of the first places (%)" if found.k == 1 else f"share of the first {found.k} places (%)")
        axes.legend(loc="upper left", handlelength=2.2)
        return inline(figure, "lorenz", _lorenz_text(found, name))


def rounds(found: list[Convergence]) -> str:
    """The marginal error after each round, on a log scale."""
    with drawing("rounds"):
        figure, axes = canvas()
        most = max(len(each.errors) for each in found)
        for style, each in zip(series_styles(each.name for each in found), found, strict=True):
            mark = style.marker if most <= 30 else None
            at = np.arange(1, len(each.errors) + 1)
            errors = np.maximum(each.errors, np.finfo(float).tiny)
            axes.plot(
                at, errors, color=style.page_colour, marker=mark, markersize=6, linestyle=style.line, label=each.name
            )
        axes.set_yscale("log")
        axes.set(xlabel="rounds", ylabel="marginal error (log scale)")
        axes.xaxis.set_major_locator(require("matplotlib.ticker", extra="report").MaxNLocator(integer=True, nbins=10))
        _plain_errors(axes)
        axes.legend(loc="upper right", handlelength=2.6)
        return inline(figure, "rounds", _rounds_text(found))


def sweep(found: Sweep, number: int) -> str:
    """R@1 over the places of a sweep, a line for each method, with its interval."""
    key = f"sweep-{number}"
    with drawing(key):
        figure, axes = canvas()
        for style, line in zip(series_styles(line.name for line in found.lines), found.lines, strict=True):
            look = {"color": style.page_colour, "marker": style.marker, "markersize": 6, "label": line.name}
            if found.labels:
                off = np.abs(np.array([line.low, line.high]) - np.array(line.values))
                axes.errorbar(line.at, line.values, yerr=off, linestyle="none", elinewidth=0.8, **look)
            else:
                axes.fill_between(line.at, line.low, line.high, color=style.page_colour, alpha=0.1, linewidth=0)
                axes.plot(line.at, line.values, linestyle=style.line, **look)
        if found.base is not None:
            axes.axhline(found.base, color=QUIET, linewidth=1.2, linestyle=(0, (1, 2)), label="no correction")
        if found.over in LOGARITHMIC:
            _log_places(axes, sorted({each for line in found.lines for each in line.at}), found.over == "bank-size")
        for place, label in _named(found):
            axes.annotate(
                label, (place, 0.02), xycoords=("data", "axes fraction"), ha="center", color=QUIET, rotation=0
            )
        axes.set(xlabel=AXES.get(found.over, found.over), ylabel="R@1 (%)")
        axes.margins(y=0.15)
        figure.legend(loc="outside upper center", ncols=min(4, len(found.lines) + 1), handlelength=2.4)
        return inline(figure, key, _sweep_text(found))


def _named(found: Sweep) -> list[tuple[float, str]]:
    """The names of places that have some, at their places."""
    places = sorted({each for line in found.lines for each in line.at})
    return list(zip(places, found.labels, strict=False)) if found.labels else []


def _heights(spread: Spread, edges: Any) -> Any:
    """Targets in each bar; what is empty is lifted to where the axis ends."""
    often, targets = (np.array(each, dtype=np.float64) for each in zip(*spread.bars, strict=True))
    return np.maximum(np.histogram(often, edges, weights=targets)[0], 0.5)


def _log_places(axes: Any, places: list[float], parts: bool) -> None:
    """A log scale with names at the places; parts: as one of so many."""
    ticker = require("matplotlib.ticker", extra="report")
    if min(places) <= 0:
        return
    axes.set_xscale("log")
    step = -(-len(places) // 6)
    named = [f"1/{1 / each:.0f}" if parts else f"{each:.3g}" for each in places[::step]]
    axes.set_xticks(places[::step], named)
    axes.xaxis.set_minor_locator(ticker.NullLocator())


def _plain_errors(axes: Any) -> None:
    ticker = require("matplotlib.ticker", extra="report")
    axes.yaxis.set_major_locator(ticker.LogLocator(numticks=7))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())


def heat(found: HeatMap, name: str, *, after: bool) -> str:
    """One of the two maps; both have the same colours for the same scores."""
    key = "heat-after" if after else "heat-before"
    with drawing(key):
        figure, axes = canvas(4.6, 4.2)
        scores = np.array(found.after if after else found.before, dtype=np.float64)
        image = axes.imshow(
            scores, cmap=MAP, vmin=found.low, vmax=found.high, aspect="auto", interpolation="none", origin="upper"
        )
        axes.set(xticks=[], yticks=[], xlabel="targets, most retrieved first", ylabel="queries", title=name)
        axes.grid(False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        bar: Any = figure.colorbar(
            image, ax=axes, orientation="horizontal", fraction=0.05, pad=0.03, extend="both", aspect=40
        )
        bar.outline.set_visible(False)
        bar.solids.set_rasterized(True)
        bar.ax.tick_params(length=2)
        bar.set_label("score")
        return inline(figure, key, _heat_text(found, name, after=after))


def _occurrence_text(found: Occurrence, name: str) -> str:
    """The k-occurrence in a sentence."""
    parts = []
    for who, spread in (("without a correction", found.before), (f"after {name}", found.after)):
        parts.append(
            f"{who} the most frequent target has {spread.largest:,} queries, {percent(spread.never)} of the targets "
            f"have none, and the skewness is {spread.skewness:.2f}"
        )
    return f"Histogram, log scale, of how many queries have a target among their first {found.k}: {'; '.join(parts)}."


def _lorenz_text(found: Lorenz, name: str) -> str:
    """The Lorenz curve in a sentence."""
    half = min(range(len(found.targets)), key=lambda at: abs(found.targets[at] - 0.5))
    return (
        f"Lorenz curve: the less retrieved half of the targets has {percent(found.before[half])} of the first "
        f"{found.k} places without a correction and {percent(found.after[half])} after {name}; if all were retrieved "
        f"equally often it would have 50%."
    )


def _heat_text(found: HeatMap, name: str, *, after: bool) -> str:
    """The heat map in a sentence."""
    shown = "after the correction" if after else "without a correction"
    return (
        f"Heat map of the scores of {len(found.rows)} queries with {len(found.columns)} targets {shown} ({name}); "
        f"colours run from {found.low:.2f} to {found.high:.2f}."
    )


def _rounds_text(found: list[Convergence]) -> str:
    """The rounds in a sentence."""
    parts = [
        f"{each.name} from {each.errors[0]:.2g} after round 1 to {each.errors[-1]:.2g} after round {len(each.errors)}"
        for each in found
    ]
    return f"Marginal error after each round, log scale: {'; '.join(parts)}."


def _sweep_text(found: Sweep) -> str:
    """A sweep in a sentence."""
    parts = []
    for line in found.lines:
        best = max(range(len(line.values)), key=lambda at: line.values[at])
        parts.append(f"{line.name} is best at {line.at[best]:.3g} with R@1 {line.values[best]:.1f}")
    base = "" if found.base is None else f"; without a correction it is {found.base:.1f}"
    return f"R@1 over {found.over}: {'; '.join(parts)}{base}."
