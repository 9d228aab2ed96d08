"""Text that comes from data: drawn as it is, in the letters that the fonts have, cut and wrapped to its place."""

from __future__ import annotations

import unicodedata
import warnings
from functools import cache, lru_cache
from typing import Any

from unhub.foundation.errors import UnhubWarning
from unhub.foundation.optional import require
from unhub.report.figures.style import BODY, DPI, families

UNKNOWN = "\N{WHITE SQUARE}"
ELLIPSIS = "…"


def plain(text: str) -> str:
    """The text in one line, with a white square for each letter that no installed font has.

    Controls and invisible marks that the fonts lack are left out. A warning names the letters that are missing.

    >>> plain("two\\n lines")
    'two lines'
    """
    known = _letters()
    kept, missing = [], []
    for letter in " ".join(str(text).split()):
        if ord(letter) in known:
            kept.append(letter)
        elif unicodedata.category(letter) not in ("Cc", "Cf", "Mn"):
            kept.append(UNKNOWN)
            missing.append(letter)
    if missing:
        named = ", ".join(f"U+{ord(letter):04X}" for letter in sorted(set(missing))[:3])
        warnings.warn(
            f"no installed font has {len(set(missing))} of the letters of a caption ({named}); they are drawn as "
            f"{UNKNOWN}: install a font that has them, such as Noto Sans CJK.",
            UnhubWarning,
            stacklevel=2,
        )
    return "".join(kept)


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
