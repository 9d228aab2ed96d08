"""An Evaluation: methods x metrics, with per-query values, intervals, settings and timings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhub.api import tables
from unhub.core.bias import Status
from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray, FloatArray, IntArray
from unhub.metrics import Interval, bootstrap_difference, holm, mcnemar, metric

SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False)
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
    warnings: tuple[str, ...] = ()

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


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What ``unhub.evaluate`` gives back: ``result["sn"]["R@1"]``, ``print(result.table())``."""

    rows: Mapping[str, MethodResult]
    metrics: tuple[str, ...]
    settings: Mapping[str, Any]
    clusters: AnyArray
    skipped: Mapping[str, str] = field(default_factory=dict)
    reverse: Evaluation | None = None

    def __getitem__(self, method: str) -> MethodResult:
        if method not in self.rows:
            raise InputError(f"{method!r} was not evaluated; this evaluation has {', '.join(self.rows)}.")
        return self.rows[method]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def transductive(self) -> bool:
        """Whether any row was made with the test queries as the bank."""
        return any(row.transductive for row in self.rows.values())

    def compare(self, baseline: str = "none", *, on: str = "R@1", level: float = 0.95) -> tuple[Difference, ...]:
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
        return tables.both(self, tables.plain)

    def to_markdown(self) -> str:
        """The table in Markdown."""
        return tables.both(self, tables.markdown)

    def to_latex(self) -> str:
        """The table in LaTeX, for booktabs; the best value of each column is bold."""
        return tables.both(self, tables.latex)

    def to_csv(self) -> str:
        """One line for each method and direction, every metric with its interval."""
        return tables.csv_lines(self)

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
