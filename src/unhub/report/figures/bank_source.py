"""Does a bank that lies closer to the test queries help more? One point for each bank, and the rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.report.figures.captions import fitted
from unhub.report.figures.inputs import drawable, numbers, short, some
from unhub.report.figures.legend import legend_above
from unhub.report.figures.point_labels import label_points
from unhub.report.figures.rank_correlation import spearman
from unhub.report.figures.style import COLUMN, INK, SMALL, blank, look, series_style, settle

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bank_source(
    points: Sequence[tuple[str, float, float]],
    *,
    metric: str = "R@1",
    baseline: float | None = None,
    rounds: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Figure:
    """A scatter of the metric over the distance from bank to test queries, with Spearman's rho and its interval.

    points: (name of the bank, earth mover's distance, value of the metric); a bank with a NaN is left out. baseline:
    the value without correction, a dashed line. ``rounds``, ``level`` and ``seed`` belong to the bootstrap interval.
    """
    some(points, "points", "bank")
    names = [name for name, _, _ in points]
    places = np.stack([numbers([emd, value], f"bank {name!r}", shape=(2,)) for name, emd, value in points])
    there = ~np.isnan(places).any(axis=1)
    drawable([places[there]], "points")
    shown = places[there]
    found = spearman(shown[:, 0], shown[:, 1], rounds=rounds, level=level, seed=seed)
    style = series_style(0)
    with look():
        figure = blank(COLUMN, 2.7)
        axes: Any = figure.subplots()
        dots = {"marker": style.marker, "linestyle": "none", "color": style.colour, "markeredgecolor": "white"}
        axes.plot(shown[:, 0], shown[:, 1], **dots, markersize=6, markeredgewidth=0.6, zorder=5)
        crossed = shown
        if baseline is not None:
            line = axes.axhline(baseline, color=INK, linestyle=(0, (2, 2)), linewidth=0.8)
            legend_above(figure, [line], [f"without correction: {short(baseline)}"])
            across = np.linspace(shown[:, 0].min(), shown[:, 0].max(), 100)
            crossed = np.vstack([shown, np.column_stack([across, np.full_like(across, baseline)])])
        axes.margins(0.14)
        axes.set_xlabel("earth mover's distance from bank to test queries")
        axes.set_ylabel(fitted(metric, 1.6))
        rho, low, high = (f"{value:.2f}".replace("-", "\N{MINUS SIGN}") for value in (found.rho, found.low, found.high))
        axes.set_title(
            f"Spearman's ρ = {rho} ({found.pairs} banks)\n{level * 100:g} % bootstrap interval [{low}, {high}]"
        )
        labels = [
            fitted(name, 1.2, SMALL) for name, place in zip(names, places, strict=True) if not np.isnan(place).any()
        ]
        settle(figure)
        label_points(axes, shown, labels, avoid=crossed)
    return figure
