"""The colours that figures, the report and the page share: one style per method, and the variables of the style sheets.

Figures on paper have Okabe and Ito's colours, with grey instead of yellow, which white paper swallows. The page has
darker ones of the same hues, as CSS variables, so that drawings follow its dark mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#808080"
RIGHT, WRONG = GREEN, VERMILION
MAP = "cividis"
"""a colour map made for colour-blind readers; its lightness rises all the way, so that grey prints keep it"""

LIGHT: Mapping[str, str] = {
    "ground": "#fbfbfa", "sheet": "#ffffff", "sunk": "#f1f3f4", "ink": "#1b2126", "quiet": "#566069",
    "line": "#d7dcdf", "strong-line": "#8b959c", "accent": "#0b5fa5", "on-accent": "#ffffff", "before": "#b0470b",
    "after": "#0b5fa5", "right": "#0b6b4b", "wrong": "#a43c05", "use": "#0b6b4b", "unclear": "#7a5600",
    "stop": "#a3261b", "focus": "#0b5fa5", "purple": "#8f3f6f", "sky": "#1f7a9c",
}  # fmt: skip
DARK: Mapping[str, str] = {
    "ground": "#14171a", "sheet": "#1b1f23", "sunk": "#24292e", "ink": "#e9edf0", "quiet": "#a8b3bb",
    "line": "#363d43", "strong-line": "#737e86", "accent": "#78b8f2", "on-accent": "#0d1216", "before": "#f09a61",
    "after": "#78b8f2", "right": "#55cfa2", "wrong": "#f09a61", "use": "#55cfa2", "unclear": "#e5b95a",
    "stop": "#ff9a8d", "focus": "#9ccbf6", "purple": "#e3a6cd", "sky": "#7fd0ea",
}  # fmt: skip
PRINT: Mapping[str, str] = {
    **LIGHT,
    "ground": "#ffffff", "sunk": "#f4f4f4", "ink": "#000000", "quiet": "#444444", "line": "#bbbbbb",
    "strong-line": "#777777", "accent": "#0b4f8a", "unclear": "#6a4a00",
}  # fmt: skip


@dataclass(frozen=True)
class SeriesStyle:
    """How one series is drawn: colour, marker and line, each enough to tell it from the others.

    ``colour`` is for paper; ``variable`` names the colour on the page.
    """

    colour: str
    variable: str
    marker: str
    line: Any

    @property
    def page_colour(self) -> str:
        """The colour on the light page."""
        return LIGHT[self.variable]


SERIES = (
    SeriesStyle(BLUE, "after", "o", "-"),
    SeriesStyle(VERMILION, "before", "s", "--"),
    SeriesStyle(GREEN, "right", "^", "-."),
    SeriesStyle(PURPLE, "purple", "D", ":"),
    SeriesStyle(ORANGE, "unclear", "v", (0, (5, 1, 1, 1, 1, 1))),
    SeriesStyle(SKY, "sky", "P", "-"),
    SeriesStyle(BLACK, "ink", "X", "--"),
    SeriesStyle(GREY, "quiet", "*", "-."),
)
METHODS: Mapping[str, SeriesStyle] = {
    "DBSN": SERIES[0], "IS": SERIES[1], "SN": SERIES[2], "DualIS": SERIES[3], "DIS": SERIES[4], "DualDIS": SERIES[5],
    "none": SERIES[6], "no correction": SERIES[6], "without correction": SERIES[6],
}  # fmt: skip
"""each method looks the same in every figure"""


def series_styles(names: Iterable[str]) -> list[SeriesStyle]:
    """A style for each series: a method's own, and for others the first that are free.

    >>> [style.marker for style in series_styles(["query", "SN (transductive)", "target"])]
    ['o', '^', 's']
    """
    own = [METHODS.get(name.partition(" (")[0]) for name in names]
    free = [style for style in SERIES if style not in own] or list(SERIES)
    others = [at for at, style in enumerate(own) if style is None]
    filled = {at: free[number % len(free)] for number, at in enumerate(others)}
    return [style if style is not None else filled[at] for at, style in enumerate(own)]


_DRAWN = ("purple", "sky", "unclear", "right", "after", "before", "sheet", "line", "quiet", "ink")
_COLOURS = {LIGHT[name]: name for name in _DRAWN}
_COLOUR = re.compile("|".join(_COLOURS), re.IGNORECASE)


def with_variables(svg: str) -> str:
    """A drawing in the light page's colours with its CSS variables instead.

    >>> with_variables('style="fill: #1B2126"')
    'style="fill: var(--ink)"'
    """
    return _COLOUR.sub(lambda match: f"var(--{_COLOURS[match[0].lower()]})", svg)


def stylesheet(*names: str) -> str:
    """The colours as CSS variables, light, dark and printed, followed by these files of the folder ``look``."""
    themes = (LIGHT, DARK, PRINT)
    light, dark, printed = (" ".join(f"--{name}: {value};" for name, value in each.items()) for each in themes)
    variables = f""":root {{ color-scheme: light dark; {light} }}
@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}
:root[data-theme="dark"] {{ color-scheme: dark; {dark} }}
:root[data-theme="light"] {{ color-scheme: light; }}
@media print {{ :root, :root:not([data-theme="light"]) {{ color-scheme: light; {printed} }} }}
"""
    look = files("unhub.report") / "look"
    return "\n".join([variables, *((look / name).read_text(encoding="utf-8") for name in names)])
