"""The points of a sweep as a table, as CSV and as the paper's figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from unhub.experiments.kept import Point
from unhub.experiments.result import QUERY_AWARE
from unhub.experiments.sweep_jobs import BANK_QUERIES
from unhub.report.result_tables import BADGE, NAMES

FIGURES = ("tau", "bank-size", "bank-source")
"""sweeps that the paper has a figure of"""
FEWEST = 3
"""sources that a rank correlation needs"""


def rows(over: str, points: Sequence[Point]) -> tuple[list[str], list[list[str]]]:
    """Titles and lines: each place and method with its metrics, the mean and the spread of the rounds."""
    metrics = list(dict.fromkeys(name for point in points for name in point.values))
    lines = []
    for at, label, method in dict.fromkeys((point.at, point.label, point.method) for point in points):
        same = [point for point in points if (point.at, point.label, point.method) == (at, label, method)]
        place = "" if method == "none" else label or f"{at:.4g}"
        cells = [_mean([point.values[name] for point in same if name in point.values]) for name in metrics]
        lines.append([place, NAMES.get(method, method), *cells])
    return [over, "method", *metrics], lines


def csv_lines(over: str, points: Sequence[Point]) -> str:
    """One line for each point and metric."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(["sweep", "at", "label", "round", "bank", "method", "metric", "value", "low", "high"])
    for point in points:
        for name, value in point.values.items():
            low, high = point.interval if name == "R@1" and point.interval else ("", "")
            writer.writerow(
                [over, point.at, point.label, point.round, point.bank, point.method, name, value, low, high]
            )
    return sink.getvalue()


def figure(over: str, points: Sequence[Point]) -> Any:
    """The paper's figure of a sweep, drawn by matplotlib; None where there are too few sources for one."""
    from unhub.report import figures

    base = next((point.values["R@1"] for point in points if point.method == "none"), None)
    found = [point for point in points if point.method != "none"]
    methods = list(dict.fromkeys(point.method for point in found))
    places = sorted({point.at for point in found})
    if over == "tau":
        at = {name: [_at(found, name, place)[0] for place in places] for name in methods}
        values = {_name(name): np.array([point.values["R@1"] for point in at[name]]) for name in methods}
        intervals = {_name(name): np.array([point.interval for point in at[name]]) for name in methods}
        note = "best τ as seen on the test queries"
        if any(point.bank == QUERY_AWARE for point in found):
            note = f"{BADGE}; {note}"
        return figures.tau_sweep(places, values, intervals, base, note=note)
    if over == "bank-size":
        panels = {name: _panel(found, methods, places, name) for name in figures.PANELS}
        none = next((point.values for point in points if point.method == "none"), {})
        for name, series in panels.items():
            if series and name in none:  # a small bank can be worse than none
                series["without correction"] = (np.full(len(places), none[name]), np.zeros(len(places)))
        sized = [point for point in found if point.at == places[-1] and BANK_QUERIES in point.values]
        sizes = {round(point.values[BANK_QUERIES] / point.at) for point in sized}
        shown = {name: each for name, each in panels.items() if each}
        return figures.bank_size(places, shown, whole=max(sizes, default=None))
    labels = {point.label for point in found}
    chosen = [name for name in methods if {point.label for point in found if point.method == name} == labels][-1]
    sources = [(point.label, point.at, point.values["R@1"]) for point in found if point.method == chosen]
    if len(sources) < FEWEST:
        return None
    return figures.bank_source(sources, metric=f"R@1 ({_name(chosen)})", baseline=base)


def _panel(points: Sequence[Point], methods: list[str], places: list[float], name: str) -> dict[str, Any]:
    """Mean and spread over rounds, for each method; what belongs to the bank itself is drawn once."""
    if not all(name in point.values for point in points):
        return {}
    of_bank = name.startswith("EMD")
    series = {}
    for method in methods[:1] if of_bank else methods:
        drawn = [[point.values[name] for point in _at(points, method, place)] for place in places]
        means, spreads = (np.array([step(each) for each in drawn]) for step in (np.mean, np.std))
        series["query bank" if of_bank else _name(method)] = (means, spreads)
    return series


def _at(points: Sequence[Point], method: str, place: float) -> list[Point]:
    return [point for point in points if (point.method, point.at) == (method, place)]


def _mean(values: list[float]) -> str:
    if not values:
        return "-"
    spread = f" ± {np.std(values):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def _name(method: str) -> str:
    return NAMES.get(method, method).lstrip("+")
