"""Radar: many datasets, models or metrics at a glance, each on its own scale; farther out is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.experiments.figure_data import FEWEST_AXES, RadarAxis
from unhub.foundation.errors import InputError
from unhub.reports.figures.axes import numbers, refuse_empty
from unhub.reports.figures.captions import columns_of, extent, fitted, legend_above
from unhub.reports.figures.style import BODY, COLUMN, FAINT, INK, PAGE, SMALL, blank_sheet, look
from unhub.reports.palette import series_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RINGS = 4
INNER = 0.2
"""where a scale begins, as a share of the radius: at the centre all series would meet in one point"""
LEAST = 0.002
"""the smallest step as a share of the value: closer values look equal"""
BESIDE = 0.1
"""inches from a spoke to its numbers, so that lines do not cover them"""
MOST, NARROW = 16, 8
"""axes that a radar can have at most, and that fit into one column"""
LABEL_PAD, LABEL_GAP = 0.11, 0.03
"""inches between the circle and a name, and between two names"""
SMALLEST_RADIUS = 0.6
"""inches: a smaller radius cannot be read; long names then come closer to the edge"""


def radar(axes: Sequence[str | RadarAxis], series: Mapping[str, ArrayLike]) -> Figure:
    """A polygon for each series over 3 to 16 axes, each axis from its own round number to its own.

    series: name -> one value for each axis, NaN where there is none: the line has a gap there.
    """
    shown = [RadarAxis(axis) if isinstance(axis, str) else axis for axis in axes]
    if not FEWEST_AXES <= len(shown) <= MOST:
        raise InputError(f"axes has {len(shown)} entries; a radar can be read with {FEWEST_AXES} to {MOST}.")
    refuse_empty(series, "series", "series")
    table = np.stack([numbers(v, f"series {name!r}", shape=(len(shown),)) for name, v in series.items()])
    for axis, column in zip(shown, table.T, strict=True):
        if np.isnan(column).all():
            raise InputError(f"axis {axis.label!r} has no value in any series; leave the axis out.")
    with look():
        return _draw(shown, list(series), table)


def _draw(axes: Sequence[RadarAxis], names: list[str], table: NDArray[np.float64]) -> Figure:
    width, widest, radius = (COLUMN, 0.78, 1.25) if len(axes) <= NARROW else (PAGE, 1.5, 1.7)
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(axes)) / len(axes)
    texts = [fitted(axis.label, widest, BODY, lines=4) for axis in axes]
    radius, labels = place_labels(texts, angles, radius, width)
    head = 0.1 + 0.19 * -(-len(names) // columns_of(names, width))  # rows of the key
    above = max(label.y + label.height / 2 for label in labels)
    below = min(label.y - label.height / 2 for label in labels)
    figure, sheet = blank_sheet(width, head + above - below + 0.06)
    centre = np.array([width / 2, head + above])
    spokes = np.stack([np.cos(angles), -np.sin(angles)], axis=1)
    _web(sheet, centre, spokes * radius)
    letters = {"ha": "center", "va": "center", "color": INK, "size": BODY, "linespacing": 1.1}
    for label in labels:
        sheet.text(centre[0] + label.x, centre[1] - label.y, label.text, **letters)
    shares = np.empty_like(table)
    for at, (axis, column) in enumerate(zip(axes, table.T, strict=True)):
        low, step = round_scale(column, axis.most)
        share = (column - low) / (RINGS * step)
        shares[:, at] = share if axis.larger_is_better else 1 - share
        _ticks(sheet, centre, spokes[at] * radius, low, step, axis.larger_is_better, every=1 if len(axes) <= 6 else 2)
    handles = []
    for style, row in zip(series_styles(names), shares, strict=True):
        points = centre + spokes * radius * (INNER + (1 - INNER) * row)[:, None]
        closed = np.vstack([points, points[:1]])
        pen = {"color": style.colour, "marker": style.marker, "linestyle": style.line}
        handles += sheet.plot(closed[:, 0], closed[:, 1], **pen, zorder=4, clip_on=False)
        if np.isfinite(points).all():
            sheet.fill(closed[:, 0], closed[:, 1], color=style.colour, alpha=0.06, linewidth=0, zorder=2)
    legend_above(figure, handles, names, outside=False)
    return figure


def round_scale(values: NDArray[np.float64], most: float | None = None) -> tuple[float, float]:
    """The start and the step of a scale of four round steps that holds all values and does not go past ``most``.

    >>> round_scale(np.array([46.0, 53.8])), round_scale(np.array([99.2, 100.0]), most=100.0)
    ((46.0, 2.0), (99.2, 0.2))
    """
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    least = max((high - low) / RINGS, abs(high) * LEAST, 1e-12)
    if high == low:
        low -= RINGS / 2 * least
    power = 10.0 ** np.floor(np.log10(least))
    for factor in (1, 2, 2.5, 5, 10, 20):
        step = factor * power
        start = float(np.floor(low / step + 1e-9) * step)
        if step >= least and start + RINGS * step >= high - 1e-9 * step:
            break
    if most is not None and high <= most < start + RINGS * step:
        start = most - RINGS * float(step)
    return start, float(step)


def _web(sheet: Any, centre: NDArray[np.float64], ends: NDArray[np.float64]) -> None:
    for ring in range(RINGS + 1):
        corners = centre + ends * (INNER + (1 - INNER) * ring / RINGS)
        sheet.fill(corners[:, 0], corners[:, 1], fill=False, edgecolor=FAINT, linewidth=0.5, zorder=1)
    for end in ends:
        sheet.plot(*zip(centre + INNER * end, centre + end, strict=True), color=FAINT, linewidth=0.5, zorder=1)


def _ticks(
    sheet: Any, centre: NDArray[np.float64], end: NDArray[np.float64], low: float, step: float, rising: bool, every: int
) -> None:
    unit = end / np.hypot(*end)
    across = np.array([-unit[1], unit[0]]) * BESIDE
    if across[1] < 0 or (across[1] == 0 and across[0] < 0):
        across = -across
    for ring in range(every, RINGS + 1, every):
        value = low + step * (ring if rising else RINGS - ring)
        box = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.6}
        text = f"{round(value / step * 2) / 2 * step:.6g}".replace("-", "\N{MINUS SIGN}")
        inward = unit * abs(unit[0]) * extent(text, SMALL - 0.5)[0] / 2
        at = centre + end * (INNER + (1 - INNER) * ring / RINGS) + across - inward
        sheet.text(*at, text, ha="center", va="center", size=SMALL - 0.5, color="#444444", bbox=box, zorder=5)


@dataclass(frozen=True)
class Label:
    """A text, its centre and its size in inches; the circle's centre is (0, 0) and y goes up."""

    text: str
    x: float
    y: float
    width: float
    height: float


def place_labels(
    texts: Sequence[str], angles: NDArray[np.float64], radius: float, width: float
) -> tuple[float, list[Label]]:
    """The largest radius, up to ``radius``, at which all names fit into the width; and the names in place."""
    sizes = [extent(text, BODY) for text in texts]
    for (wide, _), angle in zip(sizes, angles, strict=True):
        if abs(np.cos(angle)) > 1e-6:
            radius = min(radius, (width / 2 - wide - 0.06) / abs(np.cos(angle)) - LABEL_PAD)
    radius = max(radius, SMALLEST_RADIUS)
    labels = []
    for text, (wide, high), angle in zip(texts, sizes, angles, strict=True):
        side = np.sign(np.round(np.cos(angle), 6))
        x = (radius + LABEL_PAD) * np.cos(angle) + side * wide / 2
        y = (radius + LABEL_PAD) * np.sin(angle) + np.sin(angle) * high / 2
        labels.append(Label(text, float(x), float(y), wide, high))
    return radius, _apart(labels)


def _apart(labels: list[Label]) -> list[Label]:
    """Moves overlapping names up or down, away from the middle; those nearest to it stay."""
    order = sorted(range(len(labels)), key=lambda at: (abs(round(labels[at].y, 6)), at))
    settled: list[int] = []
    for at in order:
        up = 1.0 if labels[at].y >= 0 else -1.0
        for _ in labels:
            blocking = [labels[other] for other in settled if _overlap(labels[at], labels[other])]
            if not blocking:
                break
            edge = max(up * other.y + other.height / 2 for other in blocking)
            labels[at] = replace(labels[at], y=up * (edge + LABEL_GAP + labels[at].height / 2))
        settled.append(at)
    return labels


def _overlap(one: Label, other: Label) -> bool:
    across = abs(one.x - other.x) < (one.width + other.width) / 2 + LABEL_GAP
    return across and abs(one.y - other.y) < (one.height + other.height) / 2 + LABEL_GAP / 2
