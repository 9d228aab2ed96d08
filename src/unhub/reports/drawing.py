"""The paper's figures of an experiment, drawn from their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.experiments import figure_data as values
from unhub.experiments.result import QUERY_AWARE, TRANSDUCTIVE, series_name
from unhub.experiments.sweep_cache import Point, strength_note
from unhub.experiments.sweep_jobs import BANK_QUERIES
from unhub.reports import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(data: values.FigureData) -> Figure | None:
    """A figure of these values; None where there are too few to draw, or the paper has no such figure."""
    figure: Figure | None = DRAWINGS[type(data)](data)
    return figure


def _tau(points: Sequence[Point]) -> Figure:
    corrected, methods, places = _corrected(points)
    at = {series_name(name): [_at(corrected, name, place)[0] for place in places] for name in methods}
    recalls = {name: np.array([point.values["R@1"] for point in line]) for name, line in at.items()}
    intervals = {name: np.array([point.interval for point in line]) for name, line in at.items()}
    note = "; ".join(filter(None, ("best τ as seen on the test queries", strength_note(corrected))))
    if any(point.bank == QUERY_AWARE for point in corrected):
        note = f"{TRANSDUCTIVE}; {note}"
    return figures.tau_sweep(places, recalls, intervals, _uncorrected(points).get("R@1"), note=note)


def _bank_size(points: Sequence[Point]) -> Figure:
    corrected, methods, places = _corrected(points)
    panels = {name: _panel(corrected, methods, places, name) for name in figures.PANELS}
    for name, value in _uncorrected(points).items():
        if panels.get(name):  # a small bank can be worse than no correction
            panels[name]["no correction"] = (np.full(len(places), value), np.zeros(len(places)))
    sized = [point for point in corrected if point.at == places[-1] and BANK_QUERIES in point.values]
    whole = max((round(point.values[BANK_QUERIES] / point.at) for point in sized), default=None)
    return figures.bank_size(places, {name: panel for name, panel in panels.items() if panel}, whole=whole)


def _bank_source(points: Sequence[Point]) -> Figure | None:
    corrected, methods, _ = _corrected(points)
    labels = {point.label for point in corrected}
    chosen = [name for name in methods if {point.label for point in corrected if point.method == name} == labels][-1]
    sources = [(point.label, point.at, point.values["R@1"]) for point in corrected if point.method == chosen]
    if len(sources) < figures.FEWEST_PAIRS:
        return None
    base = _uncorrected(points).get("R@1")
    return figures.bank_source(sources, metric=f"R@1 ({series_name(chosen)})", baseline=base)


def _panel(points: Sequence[Point], methods: list[str], places: list[float], name: str) -> dict[str, Any]:
    """Mean and spread over rounds, for each method; a quantity of the bank itself is drawn once."""
    if not all(name in point.values for point in points):
        return {}
    of_bank = name.startswith("EMD")
    series = {}
    for method in methods[:1] if of_bank else methods:
        rounds = [[point.values[name] for point in _at(points, method, place)] for place in places]
        means, spreads = (np.array([step(each) for each in rounds]) for step in (np.mean, np.std))
        series["query bank" if of_bank else series_name(method)] = (means, spreads)
    return series


def _corrected(points: Sequence[Point]) -> tuple[list[Point], list[str], list[float]]:
    """The points of corrections, their methods and their places."""
    corrected = [point for point in points if point.method != "none"]
    methods = list(dict.fromkeys(point.method for point in corrected))
    return corrected, methods, sorted({point.at for point in corrected})


def _uncorrected(points: Sequence[Point]) -> dict[str, float]:
    return next((point.values for point in points if point.method == "none"), {})


def _at(points: Sequence[Point], method: str, place: float) -> list[Point]:
    return [point for point in points if (point.method, point.at) == (method, place)]


SWEEPS: dict[str, Callable[[Sequence[Point]], Any]] = {
    "tau": _tau, "bank-size": _bank_size, "bank-source": _bank_source,
}  # fmt: skip
"""sweeps that the paper has a figure of"""
DRAWINGS: dict[type, Callable[[Any], Any]] = {
    values.RadarData: lambda data: figures.radar(data.axes, data.series),
    values.SimilarityData: lambda data: figures.similarity(
        data.scores[0], data.scores[1], data.counts[0], data.counts[1], data.names, k=data.k
    ),
    values.SweepData: lambda data: SWEEPS[data.over](data.points) if data.over in SWEEPS else None,
    values.HubMapData: lambda data: figures.hub_map(
        figures.project(data.vectors, seed=data.seed), data.kinds, data.counts, names=data.names, note=data.note
    ),
    values.TopResultsData: lambda data: figures.top5(data.queries),
    values.HubQueriesData: lambda data: figures.hub_queries(data.hub, data.queries),
}
