"""Names of points in a plane that keep clear of each other, of the points and of the frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unhub.report.figures.captions import extent
from unhub.report.figures.style import DPI, INK, SMALL
from unhub.report.palette import GREY

DISTANCES = (0.0, 0.06, 0.13, 0.2, 0.3, 0.42, 0.56)
"""inches from the edge of a point to its name; the nearest that is free is taken"""

DIRECTIONS = [(1, 0), (1, 1), (1, -1), (-1, 0), (-1, 1), (-1, -1), (0, 1), (0, -1)]
LEADER = 0.13
"""inches beyond which a line leads from the name to its point"""

DOT = 0.04
"""inches: half of a point that a name must not cover"""

Box = tuple[float, float, float, float]


def label_points(
    axes: Any, points: NDArray[np.float64], texts: Sequence[str], *, avoid: NDArray[np.float64], dot: float = DOT
) -> None:
    """Writes each text beside its point. Call it when the figure is settled: it measures the finished axes.

    points: (n, 2) in data coordinates; avoid: (m, 2), points that should not be covered, each a square of half side
    ``dot`` in inches. Where there is no free place the one that covers least is taken.
    """
    to_inches = axes.transData.transform
    frame = axes.get_window_extent()
    inside = (frame.x0 / DPI, frame.y0 / DPI, frame.x1 / DPI, frame.y1 / DPI)
    dots = [(x - dot, y - dot, x + dot, y + dot) for x, y in to_inches(avoid) / DPI] if len(avoid) else []
    taken: list[Box] = []
    for point, text in zip(points, texts, strict=True):
        at = to_inches(point) / DPI
        wide, high = extent(text, SMALL)
        box, distance = _place(at, wide, high, dot, inside, dots, taken)
        taken.append(box)
        centre = np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2])
        line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2}
        note = axes.annotate(
            text,
            xy=tuple(point),
            xytext=tuple((centre - at) * 72),
            textcoords="offset points",
            ha="center",
            va="center",
            size=SMALL,
            color=INK,
            arrowprops=line if distance > LEADER else None,
            zorder=6,
        )
        note.set_in_layout(False)


def _place(
    at: NDArray[np.float64], wide: float, high: float, dot: float, inside: Box, dots: list[Box], taken: list[Box]
) -> tuple[Box, float]:
    """The first place that covers nothing, or the one that covers least."""
    best: tuple[float, Box, float] | None = None
    for distance in DISTANCES:
        for right, up in DIRECTIONS:
            slant = 0.75 if right and up else 1.0
            x = at[0] + right * (slant * (dot + 0.02 + distance) + wide / 2)
            y = at[1] + up * (slant * (dot + 0.02 + distance) + high / 2)
            box = (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
            outside = wide * high - _common(box, inside)
            cost = 20 * outside + 4 * sum(_common(box, other) for other in taken) + sum(_common(box, d) for d in dots)
            if best is None or cost < best[0] - 1e-9:
                best = (cost, box, distance)
            if cost <= 1e-9:
                return box, distance
    assert best is not None
    return best[1], best[2]


def _common(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, wide) * max(0.0, high)
