"""The target that is retrieved most, and the queries that retrieve it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unhub.report.figures.captions import fitted, line_height
from unhub.report.figures.inputs import some
from unhub.report.figures.media import BADGE, Item, badge, box, draw_picture
from unhub.report.figures.style import BODY, INK, PAGE, RIGHT, SMALL, look, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGE, HUB, THUMB = 0.1, 1.7, 0.42
"""inches: around everything, the side of the hub, the picture of a query that has one"""

LINES, CAPTION = 2, 4
"""lines of a query's text, and of the hub's under its picture"""

BOLD = 0.88
"""bold letters are wider than the plain ones that are measured"""


def hub_queries(hub: Item, queries: Sequence[Item], *, k: int = 1, shown: int = 15) -> Figure:
    """The hub at the left, at the right the queries that have it among their ``k`` best, those it is right for first.

    queries: all of them, ``right`` where the hub is the ground truth: those are green, bold and checked, the others
    crossed. At most ``shown`` are written out; the title counts all. ``hub.right`` is not looked at.
    """
    some(queries, "queries", "query")
    right = sum(query.right for query in queries)
    listed = sorted(queries, key=lambda query: not query.right)[: max(1, shown)]
    left = EDGE + HUB + 0.25
    with look():
        rows = [_row(query, PAGE - EDGE - left) for query in listed]
        where = "First for" if k == 1 else f"In the top {k} of"
        title = f"{where} {_count(len(queries))}, right for {right:,} ({right / len(queries):.0%})"
        head, rest = line_height(BODY + 1) + 0.1, len(queries) - len(listed)
        below = CAPTION * line_height(SMALL) if hub.image is not None else 0.0
        tall = max(HUB + below, sum(high for _, high in rows) + (line_height(BODY) if rest else 0.0))
        figure, sheet = page(PAGE, 2 * EDGE + head + tall)
        sheet.text(EDGE, EDGE, title, ha="left", va="top", size=BODY + 1, weight="bold", color=INK)
        _hub(sheet, hub, EDGE + head)
        top = EDGE + head
        for query, (text, high) in zip(listed, rows, strict=True):
            _line(sheet, query, text, left, top, high)
            top += high
        if rest:
            said = f"and {_count(rest)} more, right for {right - sum(query.right for query in listed):,}"
            sheet.text(left, top, said, ha="left", va="top", size=BODY, color=INK, style="italic")
    return figure


def _count(queries: int) -> str:
    return f"{queries:,} {'query' if queries == 1 else 'queries'}"


def _row(query: Item, width: float) -> tuple[str, float]:
    """A query's text, wrapped, and how much height it takes."""
    indent = BADGE + 0.08 + (THUMB + 0.08 if query.image is not None else 0.0)
    text = fitted(query.caption, (width - indent) * BOLD, BODY, lines=LINES)
    high = (text.count("\n") + 1) * line_height(BODY)
    return text, max(high, THUMB if query.image is not None else 0.0) + 0.07


def _hub(sheet: Any, hub: Item, top: float) -> None:
    box(sheet, EDGE, top, HUB, HUB, colour=INK, line="-")
    if hub.image is None:
        lines = int((HUB - 0.1) / line_height(BODY))
        text = fitted(hub.caption, HUB - 0.15, BODY, lines=lines)
        sheet.text(EDGE + HUB / 2, top + HUB / 2, text, ha="center", va="center", size=BODY, color=INK)
        return
    draw_picture(sheet, hub.image, EDGE, top, HUB)
    caption = fitted(hub.caption, HUB, SMALL, lines=CAPTION)
    sheet.text(EDGE, top + HUB + 0.05, caption, ha="left", va="top", size=SMALL, color=INK)


def _line(sheet: Any, query: Item, text: str, left: float, top: float, high: float) -> None:
    middle = top + (high - 0.07) / 2
    badge(sheet, query.right, left, middle - BADGE / 2)
    left += BADGE + 0.08
    if query.image is not None:
        draw_picture(sheet, query.image, left, middle - THUMB / 2, THUMB)
        left += THUMB + 0.08
    colour, weight = (RIGHT, "bold") if query.right else (INK, "normal")
    sheet.text(left, middle, text, ha="left", va="center", size=BODY, color=colour, weight=weight, linespacing=1.15)
