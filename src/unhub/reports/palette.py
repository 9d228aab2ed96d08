"""The colours of figures, report and page: one style per method, and the CSS variables of the style sheets.

Figures on paper have Okabe and Ito's colours and a few more, without yellow, which is hard to see on white. The page
has darker ones of the same hues, as CSS variables, so that drawings follow its dark mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import cycle
from typing import Any

from unhub.methods import METHODS, title_of

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#808080"
RIGHT, WRONG = GREEN, VERMILION
MAP = "cividis"
"""a colour map for colour-blind readers; its lightness rises all the way, so it survives a grey print"""

LIGHT: Mapping[str, str] = {
    "ground": "#fbfbfa", "sheet": "#ffffff", "sunk": "#f1f3f4", "ink": "#1b2126", "quiet": "#566069",
    "line": "#d7dcdf", "strong-line": "#8b959c", "accent": "#0b5fa5", "on-accent": "#ffffff", "right": "#0b6b4b",
    "wrong": "#a43c05", "use": "#0b6b4b", "unclear": "#7a5600", "stop": "#a3261b", "focus": "#0b5fa5",
    "blue": "#0b5fa5", "vermilion": "#b0470b", "green": "#0b6b4b", "purple": "#8f3f6f", "orange": "#7a5600",
    "sky": "#1f7a9c", "grey": "#68727a", "olive": "#666611", "indigo": "#4338a8", "magenta": "#a3128f",
}  # fmt: skip
DARK: Mapping[str, str] = {
    "ground": "#14171a", "sheet": "#1b1f23", "sunk": "#24292e", "ink": "#e9edf0", "quiet": "#a8b3bb",
    "line": "#363d43", "strong-line": "#737e86", "accent": "#78b8f2", "on-accent": "#0d1216", "right": "#55cfa2",
    "wrong": "#f09a61", "use": "#55cfa2", "unclear": "#e5b95a", "stop": "#ff9a8d", "focus": "#9ccbf6",
    "blue": "#78b8f2", "vermilion": "#f09a61", "green": "#55cfa2", "purple": "#e3a6cd", "orange": "#e5b95a",
    "sky": "#7fd0ea", "grey": "#98a3ab", "olive": "#cccc66", "indigo": "#a7a0ff", "magenta": "#ff8ae8",
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
    SeriesStyle(BLUE, "blue", "o", "-"),
    SeriesStyle(VERMILION, "vermilion", "s", "--"),
    SeriesStyle(GREEN, "green", "^", "-."),
    SeriesStyle(PURPLE, "purple", "D", ":"),
    SeriesStyle(ORANGE, "orange", "v", (0, (5, 1, 1, 1, 1, 1))),
    SeriesStyle(SKY, "sky", "P", "-"),
    SeriesStyle(GREY, "grey", "X", "--"),
    SeriesStyle(BLACK, "ink", "*", "-."),
    SeriesStyle("#999933", "olive", "p", ":"),
    SeriesStyle("#332288", "indigo", "h", "-"),
    SeriesStyle("#AA1199", "magenta", "<", "--"),
)
_OWN = dict(zip(("dbsn", "is", "sn", "dualis", "dis", "dualdis", "none"), SERIES, strict=False))
_OTHERS = zip((name for name in METHODS if name not in _OWN), cycle(SERIES[len(_OWN) :]), strict=False)
METHOD_STYLES: Mapping[str, SeriesStyle] = {**_OWN, **dict(_OTHERS)}
"""each method looks the same in every figure, in the report and on the page; the rarer ones share four colours"""
BASELINE: Mapping[str, Any] = {"color": METHOD_STYLES["none"].colour, "linestyle": (0, (2, 2)), "linewidth": 1.0}
"""the line of no correction across a figure on paper"""
_BY_TITLE: Mapping[str, SeriesStyle] = {
    **{title_of(name).lower(): style for name, style in METHOD_STYLES.items()}, **METHOD_STYLES,
}  # fmt: skip


def method_style(name: str) -> SeriesStyle | None:
    """The style of a method by its name or title, whatever follows it; None for anything else.

    >>> method_style("SN (transductive)") is method_style("sn") is method_style("SN as saved")
    True
    """
    known = name.removesuffix(" as saved").lower()
    return _BY_TITLE.get(known) or _BY_TITLE.get(known.partition(" (")[0])


def series_styles(names: Iterable[str]) -> list[SeriesStyle]:
    """A style for each series: a method's own; for others the first free ones.

    >>> [style.marker for style in series_styles(["query", "SN (transductive)", "target"])]
    ['o', '^', 's']
    """
    own = [method_style(name) for name in names]
    free = cycle([style for style in SERIES if style not in own] or SERIES)
    return [style or next(free) for style in own]


_DRAWN = (*(style.variable for style in SERIES), "sheet", "line", "quiet")
_COLOURS = {LIGHT[name]: name for name in _DRAWN}
_COLOUR = re.compile("|".join(_COLOURS), re.IGNORECASE)


def with_variables(svg: str) -> str:
    """A drawing in the light page's colours with its CSS variables instead.

    >>> with_variables('style="fill: #1B2126"')
    'style="fill: var(--ink)"'
    """
    return _COLOUR.sub(lambda match: f"var(--{_COLOURS[match[0].lower()]})", svg)


def stylesheet(*names: str) -> str:
    """The colours as CSS variables, light, dark and printed, followed by these files of the folder ``look``.

    ``--method-local-scaling`` is the colour of the method with the title "local scaling".
    """
    themes = (LIGHT, DARK, PRINT)
    light, dark, printed = (" ".join(f"--{name}: {value};" for name, value in each.items()) for each in themes)
    titles = {re.sub("[^a-z0-9]+", "-", title_of(name).lower()).strip("-"): METHOD_STYLES[name] for name in METHODS}
    methods = " ".join(f"--method-{title}: var(--{style.variable});" for title, style in titles.items())
    variables = f""":root {{ color-scheme: light dark; {light} {methods} }}
@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}
:root[data-theme="dark"] {{ color-scheme: dark; {dark} }}
:root[data-theme="light"] {{ color-scheme: light; }}
@media print {{ :root, :root:not([data-theme="light"]) {{ color-scheme: light; {printed} }} }}
"""
    look = files("unhub.reports") / "look"
    return "\n".join([variables, *((look / name).read_text(encoding="utf-8") for name in names)])
