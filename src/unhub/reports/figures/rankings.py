"""What queries get: the five best of each method side by side, and the queries that get the greatest hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unhub.experiments.figure_data import Item, QueryResults
from unhub.foundation.errors import InputError
from unhub.reports.figures.axes import refuse_empty
from unhub.reports.figures.captions import fitted, line_height
from unhub.reports.figures.items import BADGE, badge, box, draw_item, draw_picture
from unhub.reports.figures.style import BODY, INK, PAGE, SMALL, blank_sheet, look
from unhub.reports.palette import RIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTH = 5
"""results of each method"""
EDGE, GAP, BETWEEN, BESIDE = 0.08, 0.05, 0.2, 0.08
"""inches: around everything, between results, between methods, between a picture and its text"""
QUERY_LINES = 2
TEXT_BOX = 0.85
"""inches: the height of results where all are texts"""
THUMB = 0.6
"""inches: the picture of a query"""


def top5(items: Sequence[QueryResults]) -> Figure:
    """Rows of queries, each with its text; columns of methods, each with its five best results.

    Methods come in pairs, or one by one where all results are texts, which need room. Right results have a solid
    green frame and a check mark, wrong ones a dashed red-orange frame and a cross.
    """
    refuse_empty(items, "items", "query")
    methods = list(items[0].results)
    refuse_empty(methods, "results", "method")
    for item in items:
        if list(item.results) != methods:
            raise InputError(
                f"query {item.query!r} has results of {list(item.results)} but the first has those of {methods}; "
                f"give every query the same methods."
            )
    pictured = any(one.image is not None for item in items for each in item.results.values() for one in each)
    abreast = min(len(methods), 2) if pictured else 1
    lines = [methods[at : at + abreast] for at in range(0, len(methods), abreast)]
    block = (PAGE - 2 * EDGE - (abreast - 1) * BETWEEN) / abreast
    side = (block - (DEPTH - 1) * GAP) / DEPTH
    tall = side if pictured else TEXT_BOX
    with look():
        heads = [
            _wrapped(f"Query: {item.query}", item.image, PAGE - 2 * EDGE, THUMB, BODY + 0.5, 0.05) for item in items
        ]
        head_of = line_height(BODY) + 0.03
        body = len(lines) * (head_of + tall + 0.08)
        height = 2 * EDGE + sum(high + body for _, high in heads) + 0.12 * (len(items) - 1)
        figure, sheet = blank_sheet(PAGE, height)
        top = EDGE
        for number, (item, (text, high)) in enumerate(zip(items, heads, strict=True)):
            if number:
                sheet.plot([EDGE, PAGE - EDGE], [top - 0.06] * 2, color="#CCCCCC", linewidth=0.5)
            left = EDGE
            if item.image is not None:
                draw_picture(sheet, item.image, left, top, THUMB)
                left += THUMB + BESIDE
            sheet.text(left, top, text, ha="left", va="top", size=BODY + 0.5, color=INK, linespacing=1.15)
            for at, line in enumerate(lines):
                below = top + high + at * (head_of + tall + 0.08)
                for column, method in enumerate(line):
                    left = EDGE + column * (block + BETWEEN)
                    _block(sheet, method, item.results[method], left, below, side, tall)
            top += high + body + 0.12
    return figure


def _wrapped(text: str, image: object, width: float, thumb: float, size: float, below: float) -> tuple[str, float]:
    """The text wrapped to the width that its picture leaves, and the height of both with the space below."""
    side = 0.0 if image is None else thumb
    text = fitted(text, width - (side + BESIDE if side else 0.0), size, lines=QUERY_LINES)
    return text, max((text.count("\n") + 1) * line_height(size), side) + below


def _block(sheet: Any, method: str, results: Sequence[Item], left: float, top: float, side: float, tall: float) -> None:
    name = fitted(method, DEPTH * side, BODY)
    sheet.text(left, top, name, ha="left", va="top", size=BODY, weight="bold", color=INK)
    for place, item in enumerate(results[:DEPTH]):
        draw_item(sheet, item, left + place * (side + GAP), top + line_height(BODY) + 0.03, side, tall)
    if not results:
        sheet.text(left, top + line_height(BODY) + 0.06, "no results", ha="left", va="top", size=BODY, color=INK)


MARGIN, HUB, HUB_THUMB = 0.1, 1.7, 0.42
"""inches: around everything, the side of the hub, the picture of a query"""
CAPTION = 4
"""lines of the hub's text under its picture"""
BOLD = 0.88
"""bold letters are wider than the plain ones that are measured"""


def hub_queries(hub: Item, queries: Sequence[Item], *, k: int = 1, shown: int = 15) -> Figure:
    """The hub on the left; on the right the queries that have it among their ``k`` best, the right ones first.

    queries: all of them, ``right`` where the hub is the ground truth: those are green, bold and checked, the others
    crossed. At most ``shown`` are written out; the title counts all. ``hub.right`` is not used.
    """
    refuse_empty(queries, "queries", "query")
    right = sum(query.right for query in queries)
    listed = sorted(queries, key=lambda query: not query.right)[: max(1, shown)]
    left = MARGIN + HUB + 0.25
    with look():
        width = (PAGE - MARGIN - left - BADGE - BESIDE) * BOLD
        rows = [_wrapped(query.caption, query.image, width, HUB_THUMB, BODY, 0.07) for query in listed]
        where = "First for" if k == 1 else f"In the top {k} of"
        title = f"{where} {_count(len(queries))}, right for {right:,} ({right / len(queries):.0%})"
        head, rest = line_height(BODY + 1) + 0.1, len(queries) - len(listed)
        below = CAPTION * line_height(SMALL) if hub.image is not None else 0.0
        tall = max(HUB + below, sum(high for _, high in rows) + (line_height(BODY) if rest else 0.0))
        figure, sheet = blank_sheet(PAGE, 2 * MARGIN + head + tall)
        sheet.text(MARGIN, MARGIN, title, ha="left", va="top", size=BODY + 1, weight="bold", color=INK)
        _hub(sheet, hub, MARGIN + head)
        top = MARGIN + head
        for query, (text, high) in zip(listed, rows, strict=True):
            _query_line(sheet, query, text, left, top, high)
            top += high
        if rest:
            more = f"and {_count(rest)} more, right for {right - sum(query.right for query in listed):,}"
            sheet.text(left, top, more, ha="left", va="top", size=BODY, color=INK, style="italic")
    return figure


def _count(queries: int) -> str:
    return f"{queries:,} {'query' if queries == 1 else 'queries'}"


def _hub(sheet: Any, hub: Item, top: float) -> None:
    box(sheet, MARGIN, top, HUB, HUB, colour=INK, line="-")
    if hub.image is None:
        lines = int((HUB - 0.1) / line_height(BODY))
        text = fitted(hub.caption, HUB - 0.15, BODY, lines=lines)
        sheet.text(MARGIN + HUB / 2, top + HUB / 2, text, ha="center", va="center", size=BODY, color=INK)
        return
    draw_picture(sheet, hub.image, MARGIN, top, HUB)
    caption = fitted(hub.caption, HUB, SMALL, lines=CAPTION)
    sheet.text(MARGIN, top + HUB + 0.05, caption, ha="left", va="top", size=SMALL, color=INK)


def _query_line(sheet: Any, query: Item, text: str, left: float, top: float, high: float) -> None:
    middle = top + (high - 0.07) / 2
    badge(sheet, query.right, left, middle - BADGE / 2)
    left += BADGE + BESIDE
    if query.image is not None:
        draw_picture(sheet, query.image, left, middle - HUB_THUMB / 2, HUB_THUMB)
        left += HUB_THUMB + BESIDE
    colour, weight = (RIGHT, "bold") if query.right else (INK, "normal")
    sheet.text(left, middle, text, ha="left", va="center", size=BODY, color=colour, weight=weight, linespacing=1.15)
