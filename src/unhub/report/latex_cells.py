"""Names and values of a ResultTable as LaTeX prints them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from unhub.api.latex_text import escape
from unhub.experiments.result import SPARSITY, ResultTable, Row, better
from unhub.report.latex_grid import Cell
from unhub.report.result_tables import NAMES, number, shown

SIDES = {"t": "Text", "v": "Video", "i": "Image", "a": "Audio"}
ARROWS = {1: r"$\uparrow$", -1: r"$\downarrow$", 0: ""}
DAGGER = r"$^\dagger$"
MISSING = "-"

Mark = Callable[[Row | None, str, str], Cell]
"""from a row, a direction and a metric to the cell"""


def direction(name: str) -> str:
    r"""A direction in words, where its letters are known.

    >>> print(direction("t2v"), direction("queries to products"))
    Text$\rightarrow$Video queries to products
    """
    known = re.fullmatch(r"([tvia])2([tvia])", name.lower())
    return rf"{SIDES[known[1]]}$\rightarrow${SIDES[known[2]]}" if known else escape(name)


def heading(table: str, name: str, *, up: bool = False) -> str:
    """A metric over its column, with an arrow down where less is better, and with ``up`` one where more is."""
    if name.startswith("skew@"):
        return rf"Skewness, $k={name.partition('@')[2]}$"
    sign, share = better(name), r"(\%)" if shown(table, name) != name else ""
    return escape(shown(table, name)) + share + (ARROWS[sign] if up or sign < 0 else "")


def plain_name(row: Row) -> str:
    """What the paper calls a row."""
    return escape(NAMES.get(row.label, row.label).removeprefix("+"))


def method(row: Row, before: str = "+ ") -> str:
    """The name of a row in its table, with a dagger where the test queries are in its bank."""
    return MISSING if row.method == "none" else before + plain_name(row) + (DAGGER if row.transductive else "")


def marked(tables: Sequence[ResultTable]) -> Mark:
    """A function that makes cells: the best over the rows of these tables bold, above R@1 the letters of the beaten."""
    joined = replace(tables[0], blocks=tuple(block for table in tables for block in table.blocks))

    def cell(row: Row | None, way: str, name: str) -> Cell:
        value = math.nan if row is None else row.values.get(way, {}).get(name, math.nan)
        if row is None or not math.isfinite(value):
            return Cell(MISSING)
        text = _number(name, value)
        best = joined.best(way, name)
        if 0 < len(best) < len(joined.rows) and round(value, 6) == round(joined.rows[min(best)].values[way][name], 6):
            text = rf"\textbf{{{text}}}"
        beats = row.standing[way].beats if name == "R@1" else ""
        return Cell(text + (rf"\textsuperscript{{{beats}}}" if beats else ""))

    return cell


def _number(name: str, value: float) -> str:
    """As in the other forms, but a share of zeros with as many digits as the paper gives it."""
    if name != SPARSITY:
        return number(name, value).replace("-", "$-$")
    return f"{value:.5f}" if value else "0"
