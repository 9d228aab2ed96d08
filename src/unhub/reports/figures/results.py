"""Results as figures, for their ``plot()``: how often targets are retrieved, and how the bias is spread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.api.correction import Correction
from unhub.api.diagnose import Diagnosis
from unhub.api.evaluation import Evaluation
from unhub.foundation.errors import InputError
from unhub.foundation.types import IntArray
from unhub.methods import title_of
from unhub.metrics import k_occurrence
from unhub.reports.figures.axes import count_edges, plain_log
from unhub.reports.figures.style import blank, look
from unhub.reports.palette import series_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BARS = 24
"""bars of a histogram, at most"""
MOST_SERIES = 8
"""methods in one figure, at most: the first ones"""
WIDTH, HEIGHT = 4.6, 3.0
"""inches"""


def evaluation(result: Evaluation, k: int = 10) -> Figure:
    """How often targets are among the first k, a line for each method."""
    if result.settings["group_targets"] is not None:
        raise InputError("this evaluation ranked groups of targets, so single targets have no counts to plot.")
    rows = list(result.rows.values())[:MOST_SERIES]
    gallery = result.settings["gallery"]
    counts = {row.label: k_occurrence(row.top, gallery, min(k, row.top.shape[1])) for row in rows}
    return _occurrence({title_of(label): each for label, each in counts.items()}, k)


def diagnosis(result: Diagnosis, k: int = 10) -> Figure:
    """How often targets are among the first k, with no correction."""
    if k not in result.counts:
        raise InputError("k", f"is {k}", f"a diagnosis counts the first {', '.join(map(str, result.counts))}")
    return _occurrence({title_of("none"): result.counts[k]}, k)


def correction(result: Correction) -> Figure:
    """How many targets have which bias."""
    with look():
        figure, axes = _canvas()
        axes.hist(result.bias, bins=BARS, color=series_styles([result.method.name])[0].colour)
        axes.set(xlabel=f"bias of {result.method.title}", ylabel="targets")
        return figure


def _occurrence(counts: Mapping[str, IntArray], k: int) -> Figure:
    with look():
        figure, axes = _canvas()
        edges = count_edges(max(int(each.max(initial=0)) for each in counts.values()), BARS)
        for style, (name, each) in zip(series_styles(counts), counts.items(), strict=True):
            heights = np.maximum(np.histogram(each, edges)[0], 0.5)  # an empty bar ends below the axis
            axes.stairs(heights, edges, color=style.colour, linestyle=style.line, label=name, baseline=None)
        axes.set_yscale("log")
        axes.set_ylim(0.6, None)
        axes.set_xlim(edges[0], edges[-1])
        plain_log(axes.yaxis)
        places = "first" if k == 1 else f"among the first {k}"
        axes.set(xlabel=f"queries that have the target {places}", ylabel="targets (log scale)")
        figure.legend(loc="outside upper center", ncols=4, handlelength=2.2)
        return figure


def _canvas() -> tuple[Figure, Any]:
    figure = blank(WIDTH, HEIGHT)
    return figure, figure.subplots()
