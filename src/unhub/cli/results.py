"""An evaluation as a person or a program reads it: table, Markdown, LaTeX, CSV, JSON, and what beats what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from unhub.cli import console

if TYPE_CHECKING:
    from unhub.api.evaluation import Difference, Evaluation

BASELINE, ON = "none", "R@1"
FORMATS: Mapping[str, Callable[[Evaluation, bool], str]] = {
    "table": lambda result, compare: "\n".join([result.table(), *(comparison(result) if compare else [])]),
    "markdown": lambda result, compare: "\n".join([result.to_markdown(), *_compared(result, compare, "- ")]),
    "latex": lambda result, compare: "\n".join([*_compared(result, compare, "% "), result.to_latex()]),
    "csv": lambda result, compare: result.to_csv().removesuffix("\n"),
    "json": lambda result, compare: console.as_json(plain(result, compare=compare)),
}
"""name of a form -> the text, with the comparison where the form has a place for it"""

ENDINGS: Mapping[str, str] = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".txt": "table"}
"""ending of a file -> form"""


def _compared(result: Evaluation, compare: bool, mark: str) -> list[str]:
    """The comparison's lines, marked as a list or as comments."""
    return [f"{mark}{line.strip()}" if line else "" for line in comparison(result)] if compare else []


def comparable(result: Evaluation) -> bool:
    """Whether there is a baseline to compare with, and anything to compare."""
    return BASELINE in result.rows and len(result) > 1 and ON in result.metrics


def plain(result: Evaluation, *, compare: bool) -> dict[str, Any]:
    """Plain data, with the comparison in it if asked."""
    found = result.to_dict()
    if compare and comparable(result):
        found["comparison"] = [_difference(each) for each in result.compare(BASELINE, on=ON)]
    if result.reverse is not None:
        found["reverse"] = plain(result.reverse, compare=compare)
    return found


def comparison(result: Evaluation) -> list[str]:
    """A line for each method: its difference to doing nothing, with interval and p-value."""
    lines = []
    for one in (result, result.reverse):
        if one is None or not comparable(one):
            continue
        heading = f"{ON} against {BASELINE}"
        lines += ["", heading if result.reverse is None else f"{heading}, {one.settings['direction']}"]
        lines += [_line(each) for each in one.compare(BASELINE, on=ON)]
    return lines


def show(result: Evaluation, *, compare: bool) -> None:
    """The table on a terminal, the best value of each column stressed."""
    from unhub.api import tables

    for one in (result, result.reverse):
        if one is None:
            continue
        console.say(tables.caption(one), style="bold")
        best = tables.best_rows(one)
        strong = {
            (at, 2 + to)
            for at, label in enumerate(one.rows)
            for to, name in enumerate(one.metrics)
            if label in best[name]
        }
        rows = [tables.cells(one, row) for row in one.rows.values()]
        console.table(tables.header(one), rows, left=(0, 1), strong=strong)
        for note in tables.notes(one):
            console.say(f"  {note}", style="dim")
    for line in comparison(result) if compare else []:
        console.say(line)


def _line(each: Difference) -> str:
    ends = f"95 % interval {each.interval.low:+.1f} to {each.interval.high:+.1f}"
    chance = "" if each.adjusted is None else f", p = {each.adjusted:.2g} after Holm"
    return f"  {each.method:16} {each.interval.value:+.1f}  ({ends}{chance})"


def _difference(each: Difference) -> dict[str, Any]:
    return {
        "method": each.method,
        "baseline": each.baseline,
        "metric": each.metric,
        "difference": each.interval.value,
        "low": each.interval.low,
        "high": each.interval.high,
        "p_value": each.p_value,
        "adjusted_p_value": each.adjusted,
    }
