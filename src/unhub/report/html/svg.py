"""A matplotlib figure as SVG inside of a page: text stays text, colours are the page's, equal data give equal bytes."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unhub.foundation.optional import require
from unhub.report.figures.style import look
from unhub.report.palette import LIGHT, with_variables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, QUIET, LINE, SHEET = (LIGHT[name] for name in ("ink", "quiet", "line", "sheet"))
BEFORE, AFTER = LIGHT["before"], LIGHT["after"]
WIDTH, HEIGHT = 4.6, 3.0
"""inches, of which a page of any width makes what it has room for"""
SIZE = 9.0
SETTINGS = {
    "svg.fonttype": "none",
    "svg.image_inline": True,
    "font.size": SIZE,
    "axes.titlesize": SIZE,
    "axes.labelsize": SIZE,
    "xtick.labelsize": SIZE,
    "ytick.labelsize": SIZE,
    "legend.fontsize": SIZE,
    "text.color": INK,
    "axes.labelcolor": QUIET,
    "axes.edgecolor": QUIET,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "grid.color": LINE,
    "lines.linewidth": 1.8,
    "lines.markeredgecolor": SHEET,
}
_FONT = re.compile(r"font: (?:(?:bold|italic|\d00) )*([\d.]+px)[^;\"]*")
_ID = re.compile(r'(\bid="|href="#|url\(#)')
_HEAD = re.compile(r"<svg [^>]*?viewBox=\"([^\"]*)\"[^>]*>", re.DOTALL)


@contextmanager
def drawing(key: str) -> Iterator[None]:
    """Inside, figures have the look of the page; ids depend on the key alone."""
    matplotlib = require("matplotlib", extra="report")
    with look(), matplotlib.rc_context(SETTINGS | {"svg.hashsalt": key}):
        yield


def canvas(width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, Any]:
    """An empty figure with one pair of axes."""
    figure: Figure = require("matplotlib.figure", extra="report").Figure((width, height), layout="constrained")
    axes = figure.subplots()
    return figure, axes


def inline(figure: Figure, key: str, words: str) -> str:
    """The figure as an element of a page; words: what it shows, for those who do not see it."""
    sink = io.StringIO()
    figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = sink.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = _FONT.sub(r"font: \1 var(--text)", text)
    text = _ID.sub(rf"\1{key}-", text)
    label = html.escape(words, quote=True)
    head = (
        f'<svg class="drawn" role="img" aria-label="{label}" viewBox="\\1" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return with_variables(_HEAD.sub(lambda found: head.replace("\\1", found[1]), text, count=1)).strip()
