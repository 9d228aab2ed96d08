"""The look that all figures share: sizes, colours that colour-blind people can tell apart, fonts."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import UnhubWarning
from unhub.foundation.optional import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.33, 7.0
"""inches: the width of one column and of two"""

DPI = 200
UNKNOWN = "\N{WHITE SQUARE}"

BODY, SMALL = 8.0, 7.0
"""points: titles, labels and legends; numbers and captions inside a figure"""

INK, FAINT = "#333333", "#BBBBBB"

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


_MISSING: ContextVar[set[str] | None] = ContextVar("letters that no font has", default=None)


@contextmanager
def missing_letters() -> Iterator[set[str]]:
    """Inside, letters that no installed font has are collected; the outermost block has those of all figures."""
    outer = _MISSING.get()
    letters: set[str] = set() if outer is None else outer
    token = _MISSING.set(letters)
    try:
        yield letters
    finally:
        _MISSING.reset(token)


def missing_note(letters: Iterable[str]) -> str:
    """A sentence about letters that no installed font has."""
    named = ", ".join(f"U+{ord(letter):04X}" for letter in sorted(letters)[:3])
    return (
        f"no installed font has {len(set(letters))} of the letters of a figure ({named}); they are drawn as {UNKNOWN}: "
        f"install a font that has them, such as Noto Sans CJK."
    )


@contextmanager
def look() -> Iterator[None]:
    """Inside, matplotlib has our settings and nobody else's; afterwards it has those of before.

    matplotlib's settings belong to the process and it is not made for threads, so that one figure is drawn at a time.
    Letters that no font has are warned of once for each figure, unless somebody collects them.
    """
    style = require("matplotlib.style", extra="figures")
    outermost = _MISSING.get() is None
    settings = _LOOK | {"font.family": list(families())}
    with _ONE_AT_A_TIME, style.context(["default", settings]), missing_letters() as letters:
        yield
    if outermost and letters:
        warnings.warn(missing_note(letters), UnhubWarning, stacklevel=4)


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


_METADATA = {"pdf": {"CreationDate": None}, "png": {"Software": None}}
"""equal figures make equal files: no date, and no version in a PNG"""


def save(figure: Figure, stem: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Writes ``stem``.pdf and ``stem``.png and gives back both paths; each file is complete or not there.

    The PDF is made of lines and letters, its fonts embedded as type 42, which publishers ask for.
    """
    pdf, png = (Path(f"{os.fspath(stem)}.{ending}") for ending in ("pdf", "png"))
    with look():
        for path, ending in ((pdf, "pdf"), (png, "png")):
            with replace_file(path) as temporary:
                figure.savefig(temporary, format=ending, dpi=DPI, metadata=_METADATA[ending])
    return pdf, png
