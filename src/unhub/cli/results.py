"""An evaluation in the formats of the command line, with the comparison against no correction."""

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
"""name of a format -> the text, with the comparison where the format has a place for it"""

ENDINGS: Mapping[str, str] = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".txt": "table"}
"""ending of a file -> format"""


def _compared(result: Evaluation, compare: bool, mark: str) -> list[str]:
    """The comparison's lines, marked as a list or as comments."""
    return [f"{mark}{line.strip()}" if line else "" for line in comparison(result)] if compare else []


def comparable(result: Evaluation) -> bool:
    """Whether there is a baseline to compare with, and anything to compare."""
    return BASELINE in result.rows and len(result) > 1 and ON in result.metrics


def plain(result: Evaluation, *, compare: bool) -> dict[str, Any]:
    """Plain data, with the comparison in it if asked."""
    values = result.to_dict()
    if compare and comparable(result):
        values["comparison"] = [_difference(each) for each in result.compare(BASELINE, on=ON)]
    if result.reverse is not None:
        values["reverse"] = plain(result.reverse, compare=compare)
    return values


def comparison(result: Evaluation) -> list[str]:
    """A line for each method: its difference to doing nothing, with interval and p-value."""
    lines: list[str] = []
    for one in (result, result.reverse):
        if one is None or not comparable(one):
            continue
        heading = f"{ON} against {BASELINE}"
        lines += ["", heading if result.reverse is None else f"{heading}, {one.settings['direction']}"]
        lines += [_line(each) for each in one.compare(BASELINE, on=ON)]
    return lines


def show(result: Evaluation, *, compare: bool) -> None:
    """The table on a terminal, the best value of each column coloured."""
    from unhub.api.evaluation import evaluation_table

    for one in (result, result.reverse):
        if one is not None:
            console.show_table(evaluation_table(one))
    for line in comparison(result) if compare else []:
        console.say(line)


def _line(each: Difference) -> str:
    ends = f"{each.interval.level:.0%} interval {each.interval.low:+.1f} to {each.interval.high:+.1f}"
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
