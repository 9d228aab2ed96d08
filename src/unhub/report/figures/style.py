"""The look that all figures share: sizes, colours that colour-blind people can tell apart, fonts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from unhub.foundation.optional import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.33, 7.0
"""inches: the width of one column and of two"""

DPI = 200

BODY, SMALL = 8.0, 7.0
"""points: titles, labels and legends; numbers and captions inside a figure"""

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#808080"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY)
"""Okabe and Ito's colours, with grey instead of yellow, which white paper swallows"""

RIGHT, WRONG = GREEN, VERMILION
INK, FAINT = "#333333", "#BBBBBB"
MAP = "cividis"
"""a colour map made for colour-blind readers; its lightness rises all the way, so that grey prints keep it"""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))

_FALLBACKS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Source Han Sans SC", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "Microsoft YaHei", "PingFang SC", "Hiragino Sans GB", "Arial Unicode MS", "IPAexGothic",
    "Malgun Gothic", "Noto Sans KR", "Nanum Gothic", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari",
    "Noto Sans Thai", "Noto Emoji", "Symbola", "Segoe UI Symbol", "Noto Sans Symbols", "Noto Sans Symbols2", "Unifont",
)  # fmt: skip
"""fonts for letters that DejaVu Sans lacks, of which those that are installed are asked; none is made of pictures,
which matplotlib cannot draw"""

_LOOK = {
    "text.usetex": False,
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    "axes.formatter.useoffset": False,
    "font.size": BODY,
    "axes.titlesize": BODY,
    "axes.labelsize": BODY,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": BODY,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "pdf.fonttype": 42,
}

_ONE_AT_A_TIME = threading.RLock()


@dataclass(frozen=True)
class Series:
    """How one series is drawn: colour, marker and line, each enough to tell it from the others."""

    colour: str
    marker: str
    line: Any


def series_style(number: int) -> Series:
    """The look of the series with this number, counted from 0; equal numbers look equal in every figure.

    >>> series_style(0)
    Series(colour='#0072B2', marker='o', line='-')
    """
    return Series(PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)], LINES[number % len(LINES)])


@contextmanager
def look() -> Iterator[None]:
    """Inside, matplotlib has our settings and nobody else's; afterwards it has those of before.

    matplotlib's settings belong to the process and it is not made for threads, so that one figure is drawn at a time.
    """
    style = require("matplotlib.style", extra="figures")
    with _ONE_AT_A_TIME, style.context(["default", _LOOK | {"font.family": list(families())}]):
        yield


@cache
def families() -> tuple[str, ...]:
    """The fonts that are asked for a letter, one after the other."""
    there = {font.name for font in require("matplotlib.font_manager", extra="figures").fontManager.ttflist}
    return ("DejaVu Sans", *(name for name in _FALLBACKS if name in there))


def blank(width: float, height: float, *, layout: str | None = "constrained") -> Figure:
    """An empty figure, inches wide and high, that no window and no global state knows of."""
    figure: Figure = require("matplotlib.figure", extra="figures").Figure((width, height), dpi=DPI, layout=layout)
    require("matplotlib.backends.backend_agg", extra="figures").FigureCanvasAgg(figure)
    return figure


def settle(figure: Figure) -> None:
    """Lays everything out, once and for all: a layout that is made anew for each file would drift, and take its time.

    The second round knows the room that the first one found.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        for _ in range(2):
            engine.execute(figure)
        figure.set_layout_engine("none")


def page(width: float, height: float) -> tuple[Figure, Any]:
    """An empty figure and axes that cover it, measured in inches from the top left: a sheet to lay things out on."""
    figure = blank(width, height, layout=None)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes
