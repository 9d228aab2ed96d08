"""The look that all figures share: sizes, fonts, empty sheets, files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from unhub.foundation.atomic import replace_file
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
"""tried for letters that DejaVu Sans lacks; colour fonts are left out because matplotlib cannot draw them"""

_LOOK = {
    "text.usetex": False, "text.parse_math": False, "axes.formatter.use_mathtext": False,
    "axes.formatter.useoffset": False, "font.size": BODY, "axes.titlesize": BODY, "axes.labelsize": BODY,
    "xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "legend.fontsize": BODY, "legend.frameon": False,
    "axes.linewidth": 0.6, "axes.edgecolor": INK, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "axes.axisbelow": True, "grid.color": "#DDDDDD", "grid.linewidth": 0.5, "lines.linewidth": 1.2,
    "lines.markersize": 4.0, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "pdf.fonttype": 42,
}  # fmt: skip
_ONE_AT_A_TIME = threading.RLock()
_MISSING: ContextVar[set[str] | None] = ContextVar("letters that no font has", default=None)
_MISSING_OF: WeakKeyDictionary[Figure, set[str]] = WeakKeyDictionary()


@contextmanager
def look() -> Iterator[set[str]]:
    """Applies our matplotlib settings and no others; yields the set of letters that turn out to have no font.

    matplotlib's settings belong to the process and it is not thread-safe, so one figure is drawn at a time.
    """
    style = require("matplotlib.style", extra="figures")
    settings = _LOOK | {"font.family": list(families())}
    letters: set[str] = set()
    with _ONE_AT_A_TIME, style.context(["default", settings]):
        token = _MISSING.set(letters)
        try:
            yield letters
        finally:
            _MISSING.reset(token)


def no_font_has(letter: str) -> None:
    """Records a letter that is drawn as a square, for ``notes`` of the figure being drawn."""
    letters = _MISSING.get()
    if letters is not None:
        letters.add(letter)


def notes(figure: Figure) -> tuple[str, ...]:
    """What the reader of a figure should know: that some letters have no installed font."""
    letters = sorted(_MISSING_OF.get(figure, ()))
    if not letters:
        return ()
    codes = ", ".join(f"U+{ord(letter):04X}" for letter in letters[:3])
    return (
        f"no installed font has {len(letters)} of the letters of a figure ({codes}); they are drawn as {UNKNOWN}: "
        f"install a font that has them, such as Noto Sans CJK.",
    )


@cache
def families() -> tuple[str, ...]:
    """The fonts tried for a letter, in order."""
    present = {font.name for font in require("matplotlib.font_manager", extra="figures").fontManager.ttflist}
    return ("DejaVu Sans", *(name for name in _FALLBACKS if name in present))


def blank(width: float, height: float, *, layout: str | None = "constrained") -> Figure:
    """An empty figure, in inches, outside of pyplot's global state."""
    figure: Figure = require("matplotlib.figure", extra="figures").Figure((width, height), dpi=DPI, layout=layout)
    require("matplotlib.backends.backend_agg", extra="figures").FigureCanvasAgg(figure)
    letters = _MISSING.get()
    if letters is not None:
        _MISSING_OF[figure] = letters
    return figure


def blank_sheet(width: float, height: float) -> tuple[Figure, Any]:
    """An empty figure and axes that cover it, in inches from the top left."""
    figure = blank(width, height, layout=None)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def settle(figure: Figure) -> None:
    """Fixes the layout: computed again for each file it would drift. The second round uses the room of the first."""
    engine = figure.get_layout_engine()
    if engine is not None:
        for _ in range(2):
            engine.execute(figure)
        figure.set_layout_engine("none")


_METADATA = {"pdf": {"CreationDate": None}, "png": {"Software": None}}
"""equal figures make equal files: no date, and no version in a PNG"""


def save(figure: Figure, stem: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Writes ``stem``.pdf and ``stem``.png and returns both paths; each file is complete or absent.

    The PDF is vector graphics with fonts embedded as type 42, as publishers ask.
    """
    pdf, png = (Path(f"{os.fspath(stem)}.{ending}") for ending in _METADATA)
    with look():
        for path, (ending, metadata) in zip((pdf, png), _METADATA.items(), strict=True):
            with replace_file(path) as temporary:
                figure.savefig(temporary, format=ending, dpi=DPI, metadata=metadata)
    return pdf, png
