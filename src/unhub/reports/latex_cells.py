"""The parts of a LaTeX table: names and values as cells, and the grid that holds them and knows its width."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from unhub.experiments.result import SPARSITY, ResultTable, Row, better, metric_title, row_title
from unhub.foundation.tables import escape, tabular
from unhub.reports.result_tables import number

COLUMN, PAGE = 221.0, 453.0
"""points: the widths of a column and of the text of a two-column A4 article; most conferences have wider ones"""
LONGEST = 40
"""lines of a page with a caption and notes"""
SQUEEZED = 1.35
"""a table that is wider than the page by more than this factor is split rather than scaled down"""
SIZES = {r"\small": 9.2, r"\footnotesize": 8.5, r"\scriptsize": 7.9}
"""letter heights in points, to estimate widths: small letters of Computer Modern are wide for their size"""


class Fit(NamedTuple):
    """An environment, how wide it is, the size of letters, and the space to each side of a column."""

    environment: str
    room: float
    size: str
    space: int


FITS = (
    Fit("table", COLUMN, r"\small", 5), Fit("table", COLUMN, r"\small", 3), Fit("table", COLUMN, r"\footnotesize", 3),
    Fit("table*", PAGE, r"\small", 5), Fit("table*", PAGE, r"\small", 3), Fit("table*", PAGE, r"\footnotesize", 3),
    Fit("table*", PAGE, r"\footnotesize", 2), Fit("table*", PAGE, r"\scriptsize", 2),
)  # fmt: skip
"""from roomy to tight"""
_NARROW, _USUAL, _WIDE, _ABOVE, _BOLD = 0.31, 0.52, 0.78, 0.45, 1.12
"""widths in letter heights: a dot, a digit, a capital, a superscript; and how much wider bold letters are"""
SIDES = {"t": "Text", "v": "Video", "i": "Image", "a": "Audio"}
ARROWS = {1: r"$\uparrow$", -1: r"$\downarrow$", 0: ""}
DAGGER = r"$^\dagger$"
MISSING = "-"


@dataclass(frozen=True)
class Cell:
    """The content of one column, or of several."""

    text: str = ""
    span: int = 1
    place: str = "c"

    def __str__(self) -> str:
        spread = self.span > 1 or self.place != "c"
        return rf"\multicolumn{{{self.span}}}{{{self.place}}}{{{self.text}}}" if spread else self.text


Line = Sequence[Cell] | str
"""cells, or a rule between lines"""


@dataclass(frozen=True)
class Grid:
    """The letters of the columns, such as ``llccc``, and the lines."""

    columns: str
    lines: Sequence[Line]

    def __str__(self) -> str:
        return tabular(self.columns, self.lines, top=(r"\addlinespace", r"\toprule"))  # space below the caption

    def fit(self) -> Fit:
        """The roomiest fit in which the grid is not too wide, or the tightest."""
        return next((fit for fit in FITS if self.width(fit) <= fit.room), FITS[-1])

    def width(self, fit: Fit) -> float:
        """The approximate width in points: the widest cell of each column, and the space between columns."""
        widths = [0.0] * len(self.columns)
        placed = [each for line in self.lines if not isinstance(line, str) for each in _places(line)]
        for at, cell in sorted(placed, key=lambda each: each[1].span > 1):
            lacking = _width(cell.text) - sum(widths[at : at + cell.span])
            widths[at + cell.span - 1] += max(0.0, lacking)
        return sum(widths) * SIZES[fit.size] + 2 * fit.space * len(self.columns)

    @property
    def too_large(self) -> bool:
        """Whether it does not fit on a page, even scaled down a little."""
        count = sum(not isinstance(line, str) for line in self.lines)
        return count > LONGEST or self.width(FITS[-1]) > SQUEEZED * PAGE


def rules(cells: Iterable[Cell], first: int) -> str:
    """A thin rule under each cell with text; ``first`` is the column of the first cell, counted from 1."""
    under = ((first + at, first + at + cell.span - 1) for at, cell in _places(cells) if cell.text)
    return " ".join(rf"\cmidrule(lr){{{start}-{end}}}" for start, end in under)


def _places(cells: Iterable[Cell]) -> Iterator[tuple[int, Cell]]:
    """Each cell with its first column, counted from 0."""
    at = 0
    for cell in cells:
        yield at, cell
        at += cell.span


def _width(text: str) -> float:
    """The approximate width of a text, in letter heights."""
    bold, above = r"\textbf" in text, "".join(re.findall(r"\\textsuperscript\{([a-z]*)\}", text))
    text = re.sub(r"\\textsuperscript\{[a-z]*\}|\\textbf|\\multirow\{\d+\}\{\*\}|\^\\dagger", "", text)
    text = re.sub(r"\\[A-Za-z]+", "M", re.sub(r"\\(?:up|down)arrow", "x", text))
    letters = re.sub(r"[\\${}]", "", text)
    wide = (_WIDE if each.isupper() or each in "@+&%" else _USUAL if each.isalnum() else _NARROW for each in letters)
    return sum(wide) * (_BOLD if bold else 1.0) + _ABOVE * len(above)


Mark = Callable[[Row | None, str, str], Cell]
"""from a row, a direction and a metric to the cell"""


def direction(name: str) -> str:
    r"""A direction in words, if its letters are known.

    >>> print(direction("t2v"), direction("queries to products"))
    Text$\rightarrow$Video queries to products
    """
    known = re.fullmatch(r"([tvia])2([tvia])", name.lower())
    return rf"{SIDES[known[1]]}$\rightarrow${SIDES[known[2]]}" if known else escape(name)


def heading(table: str, name: str, *, up: bool = False) -> str:
    """A metric over its column, with an arrow where less is better and, if ``up``, also where more is."""
    if name.startswith("skew@"):
        return rf"Skewness, $k={name.partition('@')[2]}$"
    sign, share = better(name), r"(\%)" if metric_title(table, name) != name else ""
    return escape(metric_title(table, name)) + share + (ARROWS[sign] if up or sign < 0 else "")


def row_name(row: Row) -> str:
    """What the paper calls a row."""
    return escape(row_title(row.label).removeprefix("+"))


def method(row: Row, before: str = "+ ") -> str:
    """The name of a row, with a dagger where the test queries are in its bank."""
    return MISSING if row.method == "none" else before + row_name(row) + (DAGGER if row.transductive else "")


def marked(tables: Sequence[ResultTable]) -> Mark:
    """A function that makes cells: the best row of these tables is bold; R@1 carries the letters of rows it beats."""
    joined = replace(tables[0], blocks=tuple(block for table in tables for block in table.blocks))

    def cell(row: Row | None, way: str, name: str) -> Cell:
        value = math.nan if row is None else row.values.get(way, {}).get(name, math.nan)
        if row is None or not math.isfinite(value):
            return Cell(MISSING)
        text = _number(name, value)
        best = joined.best(way, name)
        if 0 < len(best) < len(joined.rows) and round(value, 6) == round(joined.rows[min(best)].values[way][name], 6):
            text = rf"\textbf{{{text}}}"
        beats = row.tests[way].beats if name == "R@1" else ""
        return Cell(text + (rf"\textsuperscript{{{beats}}}" if beats else ""))

    return cell


def _number(name: str, value: float) -> str:
    """As in the other formats, but sparsity with the paper's number of digits."""
    if name != SPARSITY:
        return number(name, value).replace("-", "$-$")
    return f"{value:.5f}" if value else "0"
