"""The colours of pictures: drawn as the light page has them, then tied to the page, so that they follow dark mode."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

INK, QUIET, LINE, SHEET = "#1b2126", "#566069", "#d7dcdf", "#ffffff"
BEFORE, AFTER, RIGHT, UNCLEAR = "#b0470b", "#0b5fa5", "#0b6b4b", "#7a5600"
TOKENS: Mapping[str, str] = {
    INK: "--ink", QUIET: "--quiet", LINE: "--line", SHEET: "--sheet", BEFORE: "--before", AFTER: "--after",
    RIGHT: "--right", UNCLEAR: "--unclear",
}  # fmt: skip
"""which variable of tokens.css each colour is"""

_COLOUR = re.compile("|".join(TOKENS), re.IGNORECASE)


@dataclass(frozen=True)
class Pen:
    """How a line is told from the others: by colour, by mark and by dashes."""

    colour: str
    mark: str
    dashes: Any


PENS = (
    Pen(BEFORE, "s", (0, (4, 2))),
    Pen(RIGHT, "^", (0, (1, 1.5))),
    Pen(AFTER, "o", "-"),
    Pen(UNCLEAR, "D", (0, (5, 1, 1, 1))),
)
OF_METHODS = {"IS": PENS[0], "SN": PENS[1], "DBSN": PENS[2]}


def pen(name: str, number: int) -> Pen:
    """The pen of a method: always the same for those that are drawn most."""
    return OF_METHODS.get(name, PENS[number % len(PENS)])


def tied(svg: str) -> str:
    """The drawing with variables of the page for its colours.

    >>> tied('style="fill: #1B2126"')
    'style="fill: var(--ink)"'
    """
    return _COLOUR.sub(lambda found: f"var({TOKENS[found[0].lower()]})", svg)
