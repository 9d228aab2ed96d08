"""Text in figures: cut and wrapped to its place, the key above a figure, and the labels of points."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unhub.foundation.optional import require
from unhub.reports.figures.style import BODY, DPI, INK, SMALL, UNKNOWN, families, no_font_has
from unhub.reports.palette import GREY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ELLIPSIS = "…"


def plain(text: str) -> str:
    """The text in one line, with a white square for each letter that no installed font has.

    Controls and invisible marks that the fonts lack are left out.

    >>> plain("two\\n lines")
    'two lines'
    """
    known = _letters()
    letters: list[str] = []
    for letter in " ".join(str(text).split()):
        if ord(letter) in known:
            letters.append(letter)
        elif unicodedata.category(letter) not in ("Cc", "Cf", "Mn"):
            letters.append(UNKNOWN)
            no_font_has(letter)
    return "".join(letters)


def fitted(text: str, width: float, size: float = BODY, lines: int = 1) -> str:
    """The text wrapped to a width in inches, and cut with an ellipsis after so many lines.

    Lines break between words; a word wider than a line, or a script without spaces, breaks anywhere.
    """
    rest, wrapped = plain(text), list[str]()
    while rest and len(wrapped) < lines:
        count = _fitting(rest, width, size)
        wrapped.append(rest[:count].rstrip())
        rest = rest[count:].lstrip()
    if rest:
        last = wrapped.pop()
        while last and extent(last + ELLIPSIS, size)[0] > width:
            last = last[:-1].rstrip()
        wrapped.append(last + ELLIPSIS)
    return "\n".join(wrapped)


def extent(text: str, size: float = BODY) -> tuple[float, float]:
    """The width and height of a text in inches."""
    rows = text.split("\n")
    return max(_width(row, size) for row in rows), len(rows) * line_height(size)


def line_height(size: float) -> float:
    """From one line to the next, in inches."""
    return 1.25 * size / 72


def _fitting(text: str, width: float, size: float) -> int:
    """How many letters of the text fit into one line, at least one."""
    if extent(text, size)[0] <= width:
        return len(text)
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if extent(text[:middle], size)[0] <= width else (low, middle - 1)
    space = text.rfind(" ", 0, low + 1)
    return space if space > 0 else low


@lru_cache(maxsize=4096)
def _width(row: str, size: float) -> float:
    font = require("matplotlib.font_manager", extra="figures").FontProperties(family=list(families()), size=size)
    return float(_ruler().get_text_width_height_descent(row, font, False)[0]) / DPI


@cache
def _ruler() -> Any:
    return require("matplotlib.backends.backend_agg", extra="figures").RendererAgg(8, 8, DPI)


@cache
def _letters() -> frozenset[int]:
    manager = require("matplotlib.font_manager", extra="figures")
    paths = [manager.findfont(name, fallback_to_default=False) for name in families()]
    return frozenset().union(*(manager.get_font(path).get_charmap() for path in paths))


LINE_SAMPLE, DOT_SAMPLE = 2.4, 0.8
"""how long the sample before a name is, in letters: a line with its marker, or a marker alone"""
_AROUND = 0.24
"""inches between a sample and its name, and behind the name"""


def columns_of(names: Sequence[str], width: float, sample: float = LINE_SAMPLE) -> int:
    """How many names fit side by side, in rows of about the same length."""
    wide = [extent(_cut(name, width))[0] + _AROUND + sample * BODY / 72 for name in names]
    for rows in range(1, len(names) + 1):
        if sum(max(wide[at : at + rows]) for at in range(0, len(names), rows)) <= width:
            return -(-len(names) // rows)
    return 1


def legend_above(
    figure: Figure, handles: Sequence[Any], names: Sequence[str], *, outside: bool = True, sample: float = LINE_SAMPLE
) -> None:
    """Puts the key above everything; ``outside`` lets a constrained layout make room for it.

    The names are set afterwards because matplotlib drops names that begin with an underscore.
    """
    width = figure.get_figwidth()
    legend = figure.legend(
        handles, [str(number) for number in range(len(names))],
        loc="outside upper center" if outside else "upper center", ncols=columns_of(names, width, sample),
        handlelength=sample, markerscale=1.0 if sample == LINE_SAMPLE else 2.0, borderaxespad=0.2, columnspacing=1.2,
    )  # fmt: skip
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(_cut(name, width))


def _cut(name: str, width: float) -> str:
    return fitted(name, width - 2 * _AROUND, BODY)


DISTANCES = (0.0, 0.06, 0.13, 0.2, 0.3, 0.42, 0.56)
"""inches from the edge of a point to its label; the nearest free one is taken"""
DIRECTIONS = [(1, 0), (1, 1), (1, -1), (-1, 0), (-1, 1), (-1, -1), (0, 1), (0, -1)]
LEADER = 0.13
"""inches beyond which a line joins a label to its point"""
DOT = 0.04
"""inches: half of a point that a label must not cover"""
Box = tuple[float, float, float, float]


def label_points(
    axes: Any, points: NDArray[np.float64], texts: Sequence[str], *, avoid: NDArray[np.float64], dot: float = DOT
) -> None:
    """Writes each text beside its point. Call it when the figure is settled: it measures the finished axes.

    points: (n, 2) in data coordinates; avoid: (m, 2), points not to be covered, each a square of half side ``dot`` in
    inches. Where no place is free, the one that covers least is taken.
    """
    to_inches = axes.transData.transform
    frame = axes.get_window_extent()
    inside = (frame.x0 / DPI, frame.y0 / DPI, frame.x1 / DPI, frame.y1 / DPI)
    dots = [(x - dot, y - dot, x + dot, y + dot) for x, y in to_inches(avoid) / DPI] if len(avoid) else []
    taken: list[Box] = []
    for point, text in zip(points, texts, strict=True):
        at = to_inches(point) / DPI
        box, distance = _place(at, extent(text, SMALL), dot, inside, dots, taken)
        taken.append(box)
        centre = np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2])
        line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2}
        label = axes.annotate(
            text, xy=tuple(point), xytext=tuple((centre - at) * 72), textcoords="offset points", ha="center",
            va="center", size=SMALL, color=INK, arrowprops=line if distance > LEADER else None, zorder=6,
        )  # fmt: skip
        label.set_in_layout(False)


def _place(
    at: NDArray[np.float64], size: tuple[float, float], dot: float, inside: Box, dots: list[Box], taken: list[Box]
) -> tuple[Box, float]:
    """The first place that covers nothing, or the one that covers least; and its distance."""
    wide, high = size
    costs: list[tuple[float, Box, float]] = []
    for distance in DISTANCES:
        for right, up in DIRECTIONS:
            away = (0.75 if right and up else 1.0) * (dot + 0.02 + distance)
            x, y = at[0] + right * (away + wide / 2), at[1] + up * (away + high / 2)
            box = (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
            outside = wide * high - _common(box, inside)
            cost = 20 * outside + 4 * sum(_common(box, other) for other in taken) + sum(_common(box, d) for d in dots)
            if cost <= 1e-9:
                return box, distance
            costs.append((round(cost, 9), box, distance))
    _, best, distance = min(costs, key=lambda each: each[0])
    return best, distance


def _common(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    wide, high = (min(one[side + 2], other[side + 2]) - max(one[side], other[side]) for side in (0, 1))
    return max(0.0, wide) * max(0.0, high)
