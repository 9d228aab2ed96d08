"""An Evaluation: methods x metrics, with per-query values, intervals, settings and timings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhub.api import notebook
from unhub.api.tables import evaluation_csv, evaluation_table, rendered
from unhub.core.bias import Status
from unhub.foundation import tables
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import AnyArray, FloatArray, IntArray
from unhub.foundation.wording import in_python, spoken
from unhub.metrics import LEVEL, Interval, bootstrap_difference, holm, mcnemar, metric

SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class MethodResult:
    """One method's row: ``row["R@1"]`` is the metric, rates in percent."""

    label: str
    method: str
    settings: Mapping[str, Any]
    values: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    per_query: Mapping[str, FloatArray]
    top: IntArray
    transductive: bool
    status: Status | None
    iterations: int
    marginal_error: float | None
    bias: FloatArray | None
    seconds: float
    notes: tuple[str, ...] = ()
    """what a person should know beside the numbers, with marks for the names of arguments"""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notes in Python's words."""
        return tuple(spoken(note, in_python) for note in self.notes)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {value:.4g}" for name, value in list(self.values.items())[:6])
        return f"MethodResult({self.label}: {values}{', …' if len(self.values) > 6 else ''})"

    def __getitem__(self, name: str) -> float:
        if name not in self.values:
            full = metric(name).name
            if full not in self.values:
                raise InputError(f"{name!r} was not asked for; this evaluation has {', '.join(self.values)}.")
            return self.values[full]
        return self.values[name]


@dataclass(frozen=True)
class Difference:
    """One method against another on one metric: paired over queries, clustered by target."""

    method: str
    baseline: str
    metric: str
    interval: Interval
    p_value: float | None
    adjusted: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What ``unhub.evaluate`` gives back: ``result["sn"]["R@1"]``, ``print(result.table())``."""

    rows: Mapping[str, MethodResult]
    metrics: tuple[str, ...]
    settings: Mapping[str, Any]
    clusters: AnyArray
    skipped: Mapping[str, str] = field(default_factory=dict)
    reverse: Evaluation | None = None

    def __repr__(self) -> str:
        size = f"{self.settings['queries']:,} queries x {self.settings['gallery']:,} targets"
        both = "" if self.reverse is None else ", both directions"
        first = self.metrics[0] if self.metrics else None
        rows = [label if first is None else f"{label} {row.values[first]:.4g}" for label, row in self.rows.items()]
        more = ", …" if len(rows) > 8 else ""
        return f"Evaluation({size}{both}; {first}: {', '.join(rows[:8])}{more})"

    def _repr_html_(self) -> str:
        """The table with bars of the first metric, for a notebook."""
        parts = []
        for one in (self,) if self.reverse is None else (self, self.reverse):
            first = one.metrics[0]
            picture = notebook.bars({label: row.values[first] for label, row in one.rows.items()}, first)
            parts.append(notebook.html_table(evaluation_table(one), picture))
        return "".join(parts)

    def to_frame(self) -> Any:
        """The values as a pandas DataFrame: one row for each method, one column for each metric.

        With both directions the index has two levels: direction, method.
        """
        if self.reverse is None:
            return notebook.frame({label: row.values for label, row in self.rows.items()}, "method")
        pandas = require("pandas", extra="pandas")
        ways = {one.settings["direction"]: one for one in (self, self.reverse)}
        frames = {
            way: notebook.frame({k: r.values for k, r in one.rows.items()}, "method") for way, one in ways.items()
        }
        return pandas.concat(frames, names=["direction"])

    def __getitem__(self, method: str) -> MethodResult:
        if method not in self.rows:
            raise InputError(f"{method!r} was not evaluated; this evaluation has {', '.join(self.rows)}.")
        return self.rows[method]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of all rows and of both directions, each once."""
        back = () if self.reverse is None else self.reverse.notes
        return tuple(dict.fromkeys((*back, *(note for row in self.rows.values() for note in row.notes))))

    @property
    def transductive(self) -> bool:
        """Whether any row was made with the test queries as the bank."""
        return any(row.transductive for row in self.rows.values())

    def compare(self, baseline: str = "none", *, on: str = "R@1", level: float = LEVEL) -> tuple[Difference, ...]:
        """Every other method against a baseline: paired bootstrap interval; for R@k exact McNemar, Holm-adjusted."""
        asked = metric(on)
        comparable = [name for name in self[baseline].per_query if metric(name).average is np.mean]
        if asked.name not in comparable:
            raise InputError(f"{on!r} cannot be compared here; means over queries are {', '.join(comparable)}.")
        base = self[baseline].per_query[asked.name]
        others = [row for label, row in self.rows.items() if label != baseline]
        scale = 100.0 if asked.percent else 1.0
        intervals, p_values = [], []
        for row in others:
            mine = row.per_query[asked.name]
            intervals.append(
                bootstrap_difference(
                    scale * mine,
                    scale * base,
                    clusters=self.clusters,
                    level=level,
                    seed=self.settings["seed"],
                )
            )
            if asked.name.startswith("R@"):
                p_values.append(mcnemar(mine, base).p_value)
        adjusted: list[float | None] = [*holm(p_values)] if p_values else [None] * len(others)
        known: list[float | None] = [*p_values] if p_values else [None] * len(others)
        return tuple(
            Difference(row.label, baseline, asked.name, interval, p, q)
            for row, interval, p, q in zip(others, intervals, known, adjusted, strict=True)
        )

    def table(self) -> str:
        """The table as plain text, for a terminal or a log."""
        return rendered(self, tables.text)

    def to_markdown(self) -> str:
        """The table in Markdown."""
        return rendered(self, tables.markdown)

    def to_latex(self) -> str:
        """The table in LaTeX, for booktabs; the best value of each column is bold."""
        return rendered(self, tables.latex)

    def to_csv(self) -> str:
        """One line for each method and direction, every metric with its interval."""
        return evaluation_csv(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: schema_version, methods -> metrics, intervals, settings, timings."""
        plain: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "transductive": self.transductive,
            "methods": {label: _with_json_names(row.values) for label, row in self.rows.items()},
            "intervals": {
                label: {name: list(ends) for name, ends in row.intervals.items()} for label, row in self.rows.items()
            },
            "details": {label: _details(row) for label, row in self.rows.items()},
            "skipped": dict(self.skipped),
            "settings": dict(self.settings),
        }
        if self.reverse is not None:
            plain["reverse"] = self.reverse.to_dict()
        return plain

    def to_json(self, *, indent: int | None = 2) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)


def _with_json_names(values: Mapping[str, float]) -> dict[str, float]:
    """The values by their names here and, where it differs, by the name other tools use (hit_rate@1 for R@1)."""
    named = dict(values)
    for name, value in values.items():
        named.setdefault(metric(name).json_name, value)
    return named


def _details(row: MethodResult) -> dict[str, Any]:
    return {
        "method": row.method,
        "settings": dict(row.settings),
        "transductive": row.transductive,
        "status": row.status,
        "iterations": row.iterations,
        "marginal_error": row.marginal_error,
        "seconds": round(row.seconds, 4),
        "warnings": list(row.warnings),
    }
