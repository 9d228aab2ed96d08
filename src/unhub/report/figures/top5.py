"""The five best results of each method for a few queries, side by side, right and wrong ones marked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unhub.foundation.errors import InputError
from unhub.report.figures.captions import fitted, line_height
from unhub.report.figures.inputs import some
from unhub.report.figures.media import Item, draw_item, draw_picture
from unhub.report.figures.style import BODY, INK, PAGE, look, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTH = 5
"""results of each method"""

EDGE, GAP, BETWEEN = 0.08, 0.05, 0.2
"""inches: around everything, between results, between methods"""

QUERY_LINES = 2
TEXT_BOX = 0.85
"""inches: how high results are where all are texts"""

THUMB = 0.6
"""inches: the picture of a query that has one"""


@dataclass(frozen=True)
class Comparison:
    """One query and what each method found for it, best first; ``image`` is the query's picture if it has one."""

    query: str
    results: Mapping[str, Sequence[Item]]
    image: str | os.PathLike[str] | None = None


def top5(items: Sequence[Comparison]) -> Figure:
    """Rows of queries, each with its text; columns of methods, each with its five best results.

    Two methods stand side by side, or one alone where all results are texts, which need room; further methods follow
    below. Right results have a solid green frame and a check mark, wrong ones a dashed red-orange frame and a cross.
    """
    some(items, "items", "query")
    methods = list(items[0].results)
    some(methods, "results", "method")
    for item in items:
        if list(item.results) != methods:
            raise InputError(
                f"query {item.query!r} has results of {list(item.results)} but the first has those of {methods}; "
                f"give every query the same methods."
            )
    pictured = any(one.image is not None for item in items for found in item.results.values() for one in found)
    abreast = min(len(methods), 2) if pictured else 1
    lines = [methods[at : at + abreast] for at in range(0, len(methods), abreast)]
    block = (PAGE - 2 * EDGE - (abreast - 1) * BETWEEN) / abreast
    side = (block - (DEPTH - 1) * GAP) / DEPTH
    tall = side if pictured else TEXT_BOX
    with look():
        heads = [_head(item) for item in items]
        head_of = line_height(BODY) + 0.03
        body = len(lines) * (head_of + tall + 0.08)
        height = 2 * EDGE + sum(high + body for _, high in heads) + 0.12 * (len(items) - 1)
        figure, sheet = page(PAGE, height)
        top = EDGE
        for number, (item, (text, high)) in enumerate(zip(items, heads, strict=True)):
            if number:
                sheet.plot([EDGE, PAGE - EDGE], [top - 0.06] * 2, color="#CCCCCC", linewidth=0.5)
            _query(sheet, item, text, top)
            for at, line in enumerate(lines):
                for column, method in enumerate(line):
                    left = EDGE + column * (block + BETWEEN)
                    _block(
                        sheet, method, item.results[method], left, top + high + at * (head_of + tall + 0.08), side, tall
                    )
            top += high + body + 0.12
    return figure


def _head(item: Comparison) -> tuple[str, float]:
    """The query's text, wrapped, and how much height it takes."""
    indent = THUMB + 0.08 if item.image is not None else 0.0
    text = fitted(f"Query: {item.query}", PAGE - 2 * EDGE - indent, BODY + 0.5, lines=QUERY_LINES)
    high = (text.count("\n") + 1) * line_height(BODY + 0.5) + 0.04
    return text, max(high, THUMB + 0.06 if item.image is not None else 0.0)


def _query(sheet: Any, item: Comparison, text: str, top: float) -> None:
    left = EDGE
    if item.image is not None:
        draw_picture(sheet, item.image, left, top, THUMB)
        left += THUMB + 0.08
    sheet.text(left, top, text, ha="left", va="top", size=BODY + 0.5, color=INK, linespacing=1.15)


def _block(sheet: Any, method: str, found: Sequence[Item], left: float, top: float, side: float, tall: float) -> None:
    name = fitted(method, DEPTH * side, BODY)
    sheet.text(left, top, name, ha="left", va="top", size=BODY, weight="bold", color=INK)
    for place, item in enumerate(found[:DEPTH]):
        draw_item(sheet, item, left + place * (side + GAP), top + line_height(BODY) + 0.03, side, tall)
    if not found:
        sheet.text(left, top + line_height(BODY) + 0.06, "no results", ha="left", va="top", size=BODY, color=INK)
