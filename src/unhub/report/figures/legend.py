"""The key to a figure, above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unhub.report.figures.captions import extent, fitted
from unhub.report.figures.style import BODY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE, DOT = 2.4, 0.8
"""how long the sample before a name is, in letters: a line with its marker, or a marker alone"""

_AROUND = 0.24
"""inches between a sample and its name, and behind the name"""


def columns_of(names: Sequence[str], width: float, sample: float = LINE) -> int:
    """How many names stand side by side: as many as fit, in rows of about the same length."""
    wide = [extent(_shown(name, width))[0] + _AROUND + sample * BODY / 72 for name in names]
    for rows in range(1, len(names) + 1):
        columns = -(-len(names) // rows)
        if sum(max(wide[at : at + rows]) for at in range(0, len(names), rows)) <= width:
            return columns
    return 1


def rows_of(names: Sequence[str], width: float) -> int:
    """How many rows the key has."""
    return -(-len(names) // columns_of(names, width))


def legend_above(
    figure: Figure, handles: Sequence[Any], names: Sequence[str], *, outside: bool = True, sample: float = LINE
) -> None:
    """Puts the key above everything; ``outside`` lets a constrained layout make room for it.

    The names are put in afterwards: matplotlib leaves out names that begin with an underscore.
    """
    width = figure.get_figwidth()
    legend = figure.legend(
        handles,
        [str(number) for number in range(len(names))],
        loc="outside upper center" if outside else "upper center",
        ncols=columns_of(names, width, sample),
        handlelength=sample,
        markerscale=1.0 if sample == LINE else 2.0,
        borderaxespad=0.2,
        columnspacing=1.2,
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(_shown(name, width))


def _shown(name: str, width: float) -> str:
    return fitted(name, width - 2 * _AROUND, BODY)
