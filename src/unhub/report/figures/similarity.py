"""The similarity matrix and how often each target is retrieved, before and after a correction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.metrics import antihub_share, skewness
from unhub.report.figures.axes import count_edges, drawable, numbers, plain_log
from unhub.report.figures.captions import fitted
from unhub.report.figures.style import BODY, COLUMN, INK, SMALL, blank, look, settle
from unhub.report.palette import BLUE, MAP, VERMILION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 200
"""rows and columns of the matrix that are drawn: more than a column of print can show only blurs"""

OUTLIERS = 0.5
"""percent of the scores at either end that the colours do not reach, so that one score does not darken the rest"""

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
    the first bar holds the targets that are retrieved least, often never.
    """
    first, second = np.asarray(before), np.asarray(after)
    if first.ndim != 2 or not first.size or first.shape != second.shape:
        raise InputError(
            f"before has shape {first.shape} and after {second.shape}; give two matrices (query, gallery) of one shape."
        )
    gallery = (first.shape[1],)
    counts = [
        numbers(counts_before, "counts_before", shape=gallery),
        numbers(counts_after, "counts_after", shape=gallery),
    ]
    for name, values in zip(("counts_before", "counts_after"), counts, strict=True):
        if not (values >= 0).all():
            raise InputError(f"{name} holds a value that is missing or negative; give the count of every target.")
    samples = [sampled(first), sampled(second)]
    drawable(samples, "the similarity matrix")
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
    for at, (axes, sample, name) in enumerate(zip(maps, samples, names, strict=True)):
        image = axes.imshow(sample, cmap=MAP, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
        axes.set_title(fitted(name, COLUMN / 2 - 0.4, BODY))
        axes.set(xticks=[], yticks=[], xlabel="targets")
        axes.grid(False)
        if at == 0:
            axes.set_ylabel("queries")
    colours = figure.colorbar(image, ax=list(maps), fraction=0.06, pad=0.02, extend="both")
    colours.outline.set_visible(False)
    colours.ax.tick_params(length=2)
    edges = count_edges(int(np.ceil(np.concatenate(counts).max())), BARS)
    tallest = max(np.histogram(values, edges)[0].max() for values in counts)
    for axes, values, colour in zip(bars, counts, (VERMILION, BLUE), strict=True):
        _histogram(axes, values, edges, colour, tallest)
        axes.set_title(f"k-occurrence, k = {k}", size=SMALL)
    bars[0].set_ylabel("number of targets")
    bars[1].tick_params(labelleft=False)
    figure.supxlabel("queries that retrieve the target", size=BODY)
    settle(figure)
    return figure


def _histogram(axes: Any, counts: NDArray[np.float64], edges: NDArray[np.float64], colour: str, tallest: int) -> None:
    targets = np.histogram(counts, edges)[0]
    axes.bar(edges[:-1], targets, width=np.diff(edges), align="edge", color=colour, edgecolor="white", linewidth=0.3)
    axes.set_yscale("log")
    axes.set_ylim(0.6, tallest * 8)
    axes.grid(axis="x", visible=False)
    plain_log(axes.yaxis)
    said = f"skewness {skewness(counts):.2f}\nlargest {counts.max():.0f}, never {antihub_share(counts):.0%}"
    axes.text(0.98, 0.98, said, transform=axes.transAxes, ha="right", va="top", size=SMALL - 0.5, color=INK)
