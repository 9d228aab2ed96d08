"""How results show in a notebook: small HTML tables with an inline picture, data frames, and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

from unhub.foundation.optional import require
from unhub.foundation.tables import Cell, Table
from unhub.foundation.types import FloatArray, IntArray

WIDTH, HEIGHT, BARS = 240, 60, 40
BAR, BASE = "#4c78a8", "#bbbbbb"


def figures() -> Any:
    """The module that draws results. It is a layer above this one, so it is imported by name when asked for."""
    return import_module("unhub.reports.figures.results")


def frame(rows: Mapping[Any, Mapping[Any, Any]], index: str) -> Any:
    """A pandas DataFrame with one row for each key; an error with the pip command where pandas is not installed."""
    pandas = require("pandas", extra="pandas")
    table = pandas.DataFrame.from_dict({name: dict(values) for name, values in rows.items()}, orient="index")
    table.index.name = index
    return table


def plain_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> Table:
    """A table of plain texts; words in the first column, numbers in the others."""
    return Table(title, tuple(columns), tuple(tuple(map(Cell, row)) for row in rows), tuple(notes), left=(0,))


def html_table(table: Table, svg: str) -> str:
    """A table with its title over it, a picture beside it and notes below; every text is escaped."""
    head = "".join(f"<th>{escape(each)}</th>" for each in table.columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in table.rows)
    small = "".join(f"<div><small>{escape(note)}</small></div>" for note in table.notes)
    return (
        f"<div><div><b>{escape(table.title)}</b></div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"{svg}{small}</div>"
    )


def bars(values: Mapping[str, float], title: str) -> str:
    """Horizontal bars, one for each name; the first is the base."""
    top = max((abs(value) for value in values.values()), default=0.0) or 1.0
    lines = []
    for at, (name, value) in enumerate(values.items()):
        length = max(1.0, 120 * abs(value) / top)
        lines.append(
            f'<text x="76" y="{16 * at + 12}" font-size="10" text-anchor="end">{escape(name[:14])}</text>'
            f'<rect x="80" y="{16 * at + 3}" width="{length:.1f}" height="11" fill="{BAR if at else BASE}"/>'
            f'<text x="{84 + length:.1f}" y="{16 * at + 12}" font-size="10">{value:.1f}</text>'
        )
    return _svg(WIDTH, 16 * len(values) + 4, title, "".join(lines))


def histogram(values: FloatArray | IntArray, title: str) -> str:
    """How often values occur, as columns."""
    counts, _ = np.histogram(np.asarray(values, dtype=np.float64), bins=BARS)
    top, step = max(1, int(counts.max())), WIDTH / BARS
    columns = [
        f'<rect x="{step * at:.1f}" y="{HEIGHT * (1 - count / top):.1f}" width="{step - 1:.1f}" '
        f'height="{HEIGHT * count / top:.1f}" fill="{BAR}"/>'
        for at, count in enumerate(counts.tolist())
    ]
    return _svg(WIDTH, HEIGHT, title, "".join(columns))


def _svg(width: int, height: int, title: str, inside: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{inside}</svg>'
    )
