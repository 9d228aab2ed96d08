"""Text in figures: cut and wrapped to its place, in the letters that the fonts have, and the key above a figure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from unhub.foundation.optional import require
from unhub.report.figures.style import BODY, DPI, UNKNOWN, families, missing_letters

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
    with missing_letters() as missing:
        for letter in " ".join(str(text).split()):
            if ord(letter) in known:
                letters.append(letter)
            elif unicodedata.category(letter) not in ("Cc", "Cf", "Mn"):
                letters.append(UNKNOWN)
                missing.add(letter)
    return "".join(letters)


def fitted(text: str, width: float, size: float = BODY, lines: int = 1) -> str:
    """The text wrapped to a width in inches, cut with an ellipsis after so many lines.

    Lines break between words; a word that is wider than a line, or a script without spaces, breaks anywhere.
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
    """How wide and high a text is in inches, lines and all."""
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
    """How many names stand side by side: as many as fit, in rows of about the same length."""
    wide = [extent(_shown(name, width))[0] + _AROUND + sample * BODY / 72 for name in names]
    for rows in range(1, len(names) + 1):
        columns = -(-len(names) // rows)
        if sum(max(wide[at : at + rows]) for at in range(0, len(names), rows)) <= width:
            return columns
    return 1


def rows_of(names: Sequence[str], width: float) -> int:
    """How many rows the key has."""
    return -(-len(names) // columns_of(names, width))


def legend_above(
    figure: Figure, handles: Sequence[Any], names: Sequence[str], *, outside: bool = True, sample: float = LINE_SAMPLE
) -> None:
    """Puts the key above everything; ``outside`` lets a constrained layout make room for it.

    The names are put in afterwards: matplotlib leaves out names that begin with an underscore.
    """
    width = figure.get_figwidth()
    legend = figure.legend(
        handles,
        [str(number) for number in range(len(names))],
        loc="outside upper center" if outside else "upper center",
        ncols=columns_of(names, width, sample),
        handlelength=sample,
        markerscale=1.0 if sample == LINE_SAMPLE else 2.0,
        borderaxespad=0.2,
        columnspacing=1.2,
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(_shown(name, width))


def _shown(name: str, width: float) -> str:
    return fitted(name, width - 2 * _AROUND, BODY)
