"""The drawings of a report as SVG inside the page: text stays text, colours are the page's, each with a description.

Equal data give equal bytes.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.analysis.model import Convergence, HeatMap, HistoryPoint, Lorenz, Occurrence, Sweep
from unhub.foundation.optional import require
from unhub.reports.figures.axes import count_edges, plain_log, ticks_at
from unhub.reports.figures.style import look
from unhub.reports.figures.sweeps import share
from unhub.reports.formats import percent
from unhub.reports.palette import LIGHT, MAP, METHOD_STYLES, series_styles, with_variables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NONE = "no correction"
BASE = METHOD_STYLES["none"]
INK, QUIET, LINE, SHEET = (LIGHT[name] for name in ("ink", "quiet", "line", "sheet"))
SIZE = 9.0
SETTINGS = {
    "svg.fonttype": "none", "svg.image_inline": True, "font.size": SIZE, "axes.titlesize": SIZE, "axes.labelsize": SIZE,
    "xtick.labelsize": SIZE, "ytick.labelsize": SIZE, "legend.fontsize": SIZE, "text.color": INK,
    "axes.labelcolor": QUIET, "axes.edgecolor": QUIET, "axes.facecolor": "none", "figure.facecolor": "none",
    "xtick.color": QUIET, "ytick.color": QUIET, "grid.color": LINE, "lines.linewidth": 1.8, "lines.markersize": 6,
    "lines.markeredgecolor": SHEET,
}  # fmt: skip
BARS = 24
"""bars of a histogram, at most"""
DOTTED = (0, (1, 2))
LOGARITHMIC = ("tau", "bank-size", "iterations")
AXES = {
    "tau": "temperature τ", "strength": "strength of the correction", "iterations": "rounds",
    "bank-size": "share of the bank", "bank-source": "distance from bank to test queries (EMD)",
}  # fmt: skip
_FONT = re.compile(r"font: (?:(?:bold|italic|\d00) )*([\d.]+px)[^;\"]*")
_ID = re.compile(r'(\bid="|href="#|url\(#)')
_HEAD = re.compile(r"<svg [^>]*?viewBox=\"([^\"]*)\"[^>]*>", re.DOTALL)


@contextmanager
def _canvas(key: str, width: float = 4.6, height: float = 3.0) -> Iterator[tuple[Figure, Any]]:
    """A figure with one pair of axes, in inches, and inside the look of the page; ids depend on the key alone."""
    matplotlib = require("matplotlib", extra="report")
    with look(), matplotlib.rc_context(SETTINGS | {"svg.hashsalt": key}):
        figure = require("matplotlib.figure", extra="report").Figure((width, height), layout="constrained")
        yield figure, figure.subplots()


def _svg(figure: Figure, key: str, description: str) -> str:
    """The figure as an SVG element; the description is for screen readers."""
    sink = io.StringIO()
    figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = sink.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<(metadata|style).*?</\1>", "", text, flags=re.DOTALL)
    text = _FONT.sub(r"font: \1 var(--text)", text)
    text = _ID.sub(rf"\1{key}-", text)
    head = f'<svg class="drawn" role="img" aria-label="{html.escape(description)}"'
    namespace = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
    text = _HEAD.sub(lambda match: f'{head} viewBox="{match[1]}" {namespace}>', text, count=1)
    return with_variables(text).strip()


def occurrence(counts: Occurrence, name: str) -> str:
    """How many targets are retrieved how often, with no correction and with one, on a log scale."""
    key, both = f"occurrence-{counts.k}", (counts.before, counts.after)
    with _canvas(key) as (figure, axes):
        edges = count_edges(max(each.largest for each in both), BARS)
        for each, style, label in zip(both, (BASE, *series_styles([name])), (NONE, name), strict=True):
            often, targets = (np.array(column, dtype=np.float64) for column in zip(*each.bars, strict=True))
            bars = np.maximum(np.histogram(often, edges, weights=targets)[0], 0.5)  # empty bars end at the axis
            colour = style.page_colour
            if each is counts.before:
                axes.stairs(bars, edges, fill=True, color=colour, alpha=0.16, linewidth=0)
            line = style.line if each is counts.before else "-"
            axes.stairs(bars, edges, color=colour, linestyle=line, linewidth=1.6, label=label, baseline=None)
        axes.set_yscale("log")
        axes.set_ylim(0.6, None)
        axes.set_xlim(edges[0], edges[-1])
        plain_log(axes.yaxis)
        rank = "first" if counts.k == 1 else f"in the top {counts.k}"
        axes.set(xlabel=f"queries that rank the target {rank}", ylabel="targets (log scale)")
        axes.grid(axis="x", visible=False)
        figure.legend(loc="outside upper right", ncols=2, handlelength=2.2)
        parts = [
            f"with {label} the largest hub has {each.largest:,} queries, {percent(each.never)} of targets have none, "
            f"skewness {each.skewness:.2f}"
            for label, each in zip((NONE, name), both, strict=True)
        ]
        title = f"Histogram of queries per target in the top {counts.k}, log scale"
        return _svg(figure, key, f"{title}: {'; '.join(parts)}.")


def lorenz(curve: Lorenz, name: str) -> str:
    """Which share of the places the least retrieved targets have."""
    with _canvas("lorenz") as (figure, axes):
        targets = 100 * np.array(curve.targets)
        axes.plot([0, 100], [0, 100], color=QUIET, linewidth=1, linestyle=DOTTED, label="fair")
        axes.plot(targets, 100 * np.array(curve.before), color=BASE.page_colour, linestyle=BASE.line, label=NONE)
        axes.plot(targets, 100 * np.array(curve.after), color=series_styles([name])[0].page_colour, label=name)
        axes.set(xlim=(0, 100), ylim=(0, 100), xlabel="targets, least retrieved first (%)")
        axes.set_ylabel("share of first places (%)" if curve.k == 1 else f"share of top-{curve.k} places (%)")
        axes.legend(loc="upper left", handlelength=2.2)
        half = min(range(len(curve.targets)), key=lambda at: abs(curve.targets[at] - 0.5))
        shares = f"{percent(curve.before[half])} with no correction and {percent(curve.after[half])} with {name}"
        words = f"the less retrieved half of the targets has {shares} of the top-{curve.k} places; fair would be 50%"
        return _svg(figure, "lorenz", f"Lorenz curve: {words}.")


def convergence(methods: list[Convergence]) -> str:
    """The marginal error after each round, on a log scale."""
    with _canvas("rounds") as (figure, axes):
        most = max(len(each.errors) for each in methods)
        for style, each in zip(series_styles(each.name for each in methods), methods, strict=True):
            errors = np.maximum(each.errors, np.finfo(float).tiny)
            look = {"color": style.page_colour, "linestyle": style.line, "label": each.name}
            axes.plot(np.arange(1, len(errors) + 1), errors, marker=style.marker if most <= 30 else None, **look)
        axes.set_yscale("log")
        axes.set(xlabel="rounds", ylabel="marginal error (log scale)")
        axes.xaxis.set_major_locator(require("matplotlib.ticker", extra="report").MaxNLocator(integer=True, nbins=10))
        plain_log(axes.yaxis, ticks=7, form=".3g")
        axes.legend(loc="upper right", handlelength=2.6)
        parts = [
            f"{each.name} from {each.errors[0]:.2g} in round 1 to {each.errors[-1]:.2g} in round {len(each.errors)}"
            for each in methods
        ]
        return _svg(figure, "rounds", f"Marginal error after each round, log scale: {'; '.join(parts)}.")


def monitor_charts(runs: list[HistoryPoint]) -> list[str]:
    """Two drawings over time: the strength that recent queries support, with churn; and the gain with its interval."""
    places, colour = np.arange(len(runs)), series_styles(["sn"])[0].page_colour
    days = [each.date[:10] for each in runs]
    shown = places[:: max(1, -(-len(runs) // 5))]
    first, last = runs[0], runs[-1]
    with _canvas("monitor-strength") as (figure, axes):
        axes.plot(places, [each.strength for each in runs], color=colour, marker="o", label="supported strength")
        churn = [np.nan if each.churn is None else each.churn for each in runs]
        axes.plot(places, churn, color=BASE.page_colour, linestyle=DOTTED, marker="s", label="churn")
        axes.set(ylim=(-0.03, 1.03), xticks=shown, xticklabels=[days[at] for at in shown])
        figure.legend(loc="outside upper center", ncols=2, handlelength=2.4)
        text = f"Supported strength over {len(runs)} runs: from {first.strength:.2f} to {last.strength:.2f}."
        strength = _svg(figure, "monitor-strength", text)
    with _canvas("monitor-gain") as (figure, axes):
        gain, error = (np.array([getattr(each, name) for each in runs]) for name in ("gain", "standard_error"))
        axes.fill_between(places, gain - 2 * error, gain + 2 * error, color=colour, alpha=0.15, linewidth=0)
        axes.plot(places, gain, color=colour, marker="o")
        axes.axhline(0, color=BASE.page_colour, linewidth=1.2, linestyle=DOTTED)
        axes.set(xticks=shown, xticklabels=[days[at] for at in shown], ylabel="gain (nats per query)")
        text = f"Gain over {len(runs)} runs: from {first.gain:.3f} to {last.gain:.3f} nats per query."
        return [strength, _svg(figure, "monitor-gain", text)]


def sweep(data: Sweep, number: int) -> str:
    """R@1 over the places of a sweep, a line with its interval for each method."""
    key, places = f"sweep-{number}", sorted({each for line in data.lines for each in line.at})
    with _canvas(key) as (figure, axes):
        for style, line in zip(series_styles(line.name for line in data.lines), data.lines, strict=True):
            look = {"color": style.page_colour, "marker": style.marker, "label": line.name}
            if data.labels:
                off = np.abs(np.array([line.low, line.high]) - np.array(line.values))
                axes.errorbar(line.at, line.values, yerr=off, linestyle="none", elinewidth=0.8, **look)
            else:
                axes.fill_between(line.at, line.low, line.high, color=style.page_colour, alpha=0.1, linewidth=0)
                axes.plot(line.at, line.values, linestyle=style.line, **look)
        if data.base is not None:
            axes.axhline(data.base, color=BASE.page_colour, linewidth=1.2, linestyle=DOTTED, label=NONE)
        if data.over in LOGARITHMIC and places[0] > 0:
            ticks_at(axes, places, share if data.over == "bank-size" else "{:.3g}".format, base=10, room=6)
        for place, label in zip(places, data.labels, strict=False):
            axes.annotate(label, (place, 0.02), xycoords=("data", "axes fraction"), ha="center", color=QUIET)
        axes.set(xlabel=AXES.get(data.over, data.over), ylabel="R@1 (%)")
        axes.margins(y=0.15)
        figure.legend(loc="outside upper center", ncols=min(4, len(data.lines) + 1), handlelength=2.4)
        parts = []
        for line in data.lines:
            value, at = max(zip(line.values, line.at, strict=True), key=lambda pair: pair[0])
            parts.append(f"{line.name} is best at {at:.3g} with R@1 {value:.1f}")
        parts += [] if data.base is None else [f"no correction has {data.base:.1f}"]
        return _svg(figure, key, f"R@1 over {data.over}: {'; '.join(parts)}.")


def heat(scores: HeatMap, name: str, *, after: bool) -> str:
    """One of the two heat maps; both have the same colours for the same scores."""
    key = "heat-after" if after else "heat-before"
    with _canvas(key, 4.6, 4.2) as (figure, axes):
        cells = np.array(scores.after if after else scores.before, dtype=np.float64)
        image = axes.imshow(
            cells, cmap=MAP, vmin=scores.low, vmax=scores.high, aspect="auto", interpolation="none", origin="upper"
        )
        axes.set(xticks=[], yticks=[], xlabel="targets, most retrieved first", ylabel="queries", title=name)
        axes.grid(False)
        axes.spines[:].set_visible(False)
        bar: Any = figure.colorbar(
            image, ax=axes, orientation="horizontal", fraction=0.05, pad=0.03, extend="both", aspect=40
        )
        bar.outline.set_visible(False)
        bar.solids.set_rasterized(True)
        bar.ax.tick_params(length=2)
        bar.set_label("score")
        size = f"{len(scores.rows)} queries with {len(scores.columns)} targets"
        ends = f"colours run from {scores.low:.2f} to {scores.high:.2f}"
        return _svg(figure, key, f"Heat map of the scores of {size}, {name}; {ends}.")
