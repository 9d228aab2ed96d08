"""The heat map of the scores, before or after: a picture inside of a drawing."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.explore.story_model import HeatMap
from unhub.report.figures.style import MAP
from unhub.report.html import words
from unhub.report.html.svg import canvas, drawing, inline


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
        return inline(figure, key, words.of_heat(found, name, after=after))
