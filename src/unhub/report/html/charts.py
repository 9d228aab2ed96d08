"""The pictures of a report that are made of lines: k-occurrence, Lorenz curve, rounds, sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.explore.model import Convergence, Sweep
from unhub.explore.story_model import Lorenz, Occurrence, Spread
from unhub.foundation.optional import require
from unhub.report.figures.log_axis import plain_log
from unhub.report.html import words
from unhub.report.html.palette import AFTER, BEFORE, QUIET, pen
from unhub.report.html.svg import canvas, drawing, inline

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
        edges = _edges(max(found.before.largest, found.after.largest))
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
        return inline(figure, key, words.of_occurrence(found, name))


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
        return inline(figure, "lorenz", words.of_lorenz(found, name))


def rounds(found: list[Convergence]) -> str:
    """The marginal error after each round, on a log scale."""
    with drawing("rounds"):
        figure, axes = canvas()
        most = max(len(each.errors) for each in found)
        for number, each in enumerate(found):
            style = pen(each.name, number)
            mark = style.mark if most <= 30 else None
            at = np.arange(1, len(each.errors) + 1)
            errors = np.maximum(each.errors, np.finfo(float).tiny)
            axes.plot(
                at, errors, color=style.colour, marker=mark, markersize=6, linestyle=style.dashes, label=each.name
            )
        axes.set_yscale("log")
        axes.set(xlabel="rounds", ylabel="marginal error (log scale)")
        axes.xaxis.set_major_locator(require("matplotlib.ticker", extra="report").MaxNLocator(integer=True, nbins=10))
        _plain_errors(axes)
        axes.legend(loc="upper right", handlelength=2.6)
        return inline(figure, "rounds", words.of_rounds(found))


def sweep(found: Sweep, number: int) -> str:
    """R@1 over the places of a sweep, a line for each method, with its interval."""
    key = f"sweep-{number}"
    with drawing(key):
        figure, axes = canvas()
        for at, line in enumerate(found.lines):
            style = pen(line.name, at)
            look = {"color": style.colour, "marker": style.mark, "markersize": 6, "label": line.name}
            if found.labels:
                off = np.abs(np.array([line.low, line.high]) - np.array(line.values))
                axes.errorbar(line.at, line.values, yerr=off, linestyle="none", elinewidth=0.8, **look)
            else:
                axes.fill_between(line.at, line.low, line.high, color=style.colour, alpha=0.1, linewidth=0)
                axes.plot(line.at, line.values, linestyle=style.dashes, **look)
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
        return inline(figure, key, words.of_sweep(found))


def _named(found: Sweep) -> list[tuple[float, str]]:
    """The names of places that have some, at their places."""
    places = sorted({each for line in found.lines for each in line.at})
    return list(zip(places, found.labels, strict=False)) if found.labels else []


def _edges(most: int) -> Any:
    """Edges of equal width, whole numbers wide and half a number off, so that each count falls into one bar."""
    wide = -(-(most + 1) // BARS)
    return np.arange(0, most + 1 + wide, wide, dtype=np.float64) - 0.5


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
