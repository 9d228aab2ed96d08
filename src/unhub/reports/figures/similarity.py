"""The similarity matrix and how often each target is retrieved, with no correction and with one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.metrics import antihub_share, skewness
from unhub.reports.figures.axes import count_edges, numbers, plain_log, refuse_missing
from unhub.reports.figures.captions import fitted
from unhub.reports.figures.style import BODY, COLUMN, INK, SMALL, blank, look, settle
from unhub.reports.palette import MAP, series_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 200
"""rows and columns of the matrix that are drawn; more would only blur in print"""
OUTLIERS = 0.5
"""percent of the scores at either end beyond the colour scale, so that one score does not darken the rest"""
BARS = 30
"""bars of a histogram, at most"""


def similarity(
    before: FloatArray,
    after: FloatArray,
    counts_before: ArrayLike,
    counts_after: ArrayLike,
    names: tuple[str, str],
    *,
    k: int = 10,
) -> Figure:
    """Heat maps on one colour scale, and under each the histogram of the k-occurrence, its counts on a log scale.

    before, after: (query, gallery) scores, of which every n-th row and column are drawn, the same in both: hubs are
    bright columns. counts_*: (gallery,), how many queries have each target among their ``k`` best, zeros included;
    the first bar holds the targets that are retrieved least, often never. names: of both, such as methods.
    """
    first, second = np.asarray(before), np.asarray(after)
    if first.ndim != 2 or not first.size or first.shape != second.shape:
        raise InputError(
            f"before has shape {first.shape} and after {second.shape}; give two matrices (query, gallery) of one shape."
        )
    counts = []
    for name, values in (("counts_before", counts_before), ("counts_after", counts_after)):
        counts.append(numbers(values, name, shape=(first.shape[1],)))
        if not (counts[-1] >= 0).all():
            raise InputError(f"{name} holds a value that is missing or negative; give the count of every target.")
    samples = [sampled(first), sampled(second)]
    refuse_missing(samples, "the similarity matrix")
    with look():
        return _draw(samples, counts, names, k)


def sampled(matrix: FloatArray) -> NDArray[np.float64]:
    """Evenly spaced rows and columns, in order, so that a diagonal stays one."""
    rows, columns = (np.linspace(0, size - 1, min(size, SHOWN)).round().astype(int) for size in matrix.shape)
    part: NDArray[np.float64] = np.asarray(matrix)[np.ix_(rows, columns)].astype(np.float64)
    part[~np.isfinite(part)] = np.nan
    return part


def _draw(
    samples: list[NDArray[np.float64]], counts: list[NDArray[np.float64]], names: tuple[str, str], k: int
) -> Figure:
    figure = blank(COLUMN, 3.5)
    grid: Any = figure.subplots(2, 2, height_ratios=(1.35, 1))
    maps, bars = grid
    low, high = np.nanpercentile(np.stack(samples), [OUTLIERS, 100 - OUTLIERS])
    for axes, sample, name in zip(maps, samples, names, strict=True):
        image = axes.imshow(sample, cmap=MAP, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
        axes.set_title(fitted(name, COLUMN / 2 - 0.4, BODY))
        axes.set(xticks=[], yticks=[], xlabel="targets")
        axes.grid(False)
    maps[0].set_ylabel("queries")
    scale = figure.colorbar(image, ax=list(maps), fraction=0.06, pad=0.02, extend="both")
    scale.outline.set_visible(False)
    scale.ax.tick_params(length=2)
    edges = count_edges(int(np.ceil(np.concatenate(counts).max())), BARS)
    heights = [np.histogram(values, edges)[0] for values in counts]
    for axes, values, bar, style in zip(bars, counts, heights, series_styles(names), strict=True):
        axes.bar(
            edges[:-1], bar, width=np.diff(edges), align="edge", color=style.colour, edgecolor="white", linewidth=0.3
        )
        axes.set_yscale("log")
        axes.set_ylim(0.6, np.max(heights) * 8)
        axes.grid(axis="x", visible=False)
        plain_log(axes.yaxis)
        facts = f"skewness {skewness(values):.2f}\nlargest {values.max():.0f}, never {antihub_share(values):.0%}"
        axes.text(0.98, 0.98, facts, transform=axes.transAxes, ha="right", va="top", size=SMALL - 0.5, color=INK)
        axes.set_title(f"k-occurrence, k = {k}", size=SMALL)
    bars[0].set_ylabel("number of targets")
    bars[1].tick_params(labelleft=False)
    figure.supxlabel("queries that retrieve the target", size=BODY)
    settle(figure)
    return figure
