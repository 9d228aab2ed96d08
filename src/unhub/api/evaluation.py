"""An Evaluation: methods x metrics, with per-query values, intervals, settings and timings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhub.api import notebook
from unhub.api.verdict import NAMES, Verdict
from unhub.core.bias import Status
from unhub.foundation import tables
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.tables import Cell, Table, csv_text
from unhub.foundation.types import AnyArray, FloatArray, IntArray
from unhub.foundation.wording import counted, in_python, spoken
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
    """what to know besides the numbers; names of arguments are marks"""
    sparse: bool = False
    """whether most corrected scores are zero, and so tied"""
    verdict: Verdict | None = None
    """of an additive method: at which strength it was served, and why"""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notes with the names of arguments as Python has them."""
        return tuple(spoken(note, in_python) for note in self.notes)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {value:.4g}" for name, value in list(self.values.items())[:6])
        return f"MethodResult({self.label}: {values}{', …' if len(self.values) > 6 else ''})"

    def __getitem__(self, name: str) -> float:
        full = name if name in self.values else metric(name).name
        if full not in self.values:
            raise InputError(f"{name!r} was not asked for; this evaluation has {', '.join(self.values)}.")
        return self.values[full]


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
        size = f"{counted(self.settings['queries'], 'query')} x {counted(self.settings['gallery'], 'target')}"
        both = "" if self.reverse is None else ", both directions"
        first = self.metrics[0] if self.metrics else None
        rows = [label if first is None else f"{label} {row.values[first]:.4g}" for label, row in self.rows.items()]
        more = ", …" if len(rows) > 8 else ""
        return f"Evaluation({size}{both}; {first}: {', '.join(rows[:8])}{more})"

    def _repr_html_(self) -> str:
        parts = []
        for each in self.directions:
            first = each.metrics[0]
            picture = notebook.bars({label: row.values[first] for label, row in each.rows.items()}, first)
            parts.append(notebook.html_table(evaluation_table(each), picture))
        return "".join(parts)

    def plot(self, k: int = 10) -> Any:
        """How often targets are among the first k, for every method: a matplotlib figure, as the report draws it."""
        return notebook.figures().evaluation(self, k)

    def to_frame(self) -> Any:
        """The values as a pandas DataFrame: one row for each method, one column for each metric.

        With both directions the index has two levels: direction, method.
        """
        frames = {
            each.settings["direction"]: notebook.frame({name: row.values for name, row in each.rows.items()}, "method")
            for each in self.directions
        }
        if self.reverse is None:
            return next(iter(frames.values()))
        return require("pandas", extra="pandas").concat(frames, names=["direction"])

    @property
    def directions(self) -> tuple[Evaluation, ...]:
        """This evaluation, and the reverse one if both directions were evaluated."""
        return (self,) if self.reverse is None else (self, self.reverse)

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
        how: Any = {"clusters": self.clusters, "level": level, "seed": self.settings["seed"]}
        p_values: list[float | None] = [None] * len(others)
        adjusted = p_values
        if asked.name.startswith("R@") and others:
            exact = [mcnemar(row.per_query[asked.name], base).p_value for row in others]
            p_values, adjusted = [*exact], [*holm(exact)]
        return tuple(
            Difference(
                row.label, baseline, asked.name,
                bootstrap_difference(scale * row.per_query[asked.name], scale * base, **how), p, q,
            )
            for row, p, q in zip(others, p_values, adjusted, strict=True)
        )  # fmt: skip

    def table(self) -> str:
        """The table as plain text, for a terminal or a log."""
        return self._rendered(tables.text)

    def to_markdown(self) -> str:
        """The table in Markdown."""
        return self._rendered(tables.markdown)

    def to_latex(self) -> str:
        """The table in LaTeX, for booktabs; the best value of each column is bold."""
        return self._rendered(tables.latex)

    def to_csv(self) -> str:
        """One line for each method and direction: every metric, and its interval where it has one."""
        ends = [name for name in self.metrics if name in next(iter(self.rows.values())).intervals]
        titles = [f"{name} {end}" for name in ends for end in ("low", "high")]
        rows = [
            [
                each.settings["direction"], row.label, _bank(row), *(row.values[name] for name in self.metrics),
                *(end for name in ends for end in row.intervals[name]),
            ]
            for each in self.directions for row in each.rows.values()
        ]  # fmt: skip
        return csv_text(["direction", "method", "bank", *self.metrics, *titles], rows)

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

    def _rendered(self, renderer: Callable[[Table], str]) -> str:
        return "\n\n".join(renderer(evaluation_table(each)) for each in self.directions)


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
        "verdict": None if row.verdict is None else row.verdict.to_dict(),
        "seconds": round(row.seconds, 4),
        "warnings": list(row.warnings),
    }


def evaluation_table(result: Evaluation) -> Table:
    """A row for each method: its label, its bank, and the metrics."""
    best = {name: _best(result, name) for name in result.metrics}
    rows = tuple(
        (
            Cell(label),
            Cell(_bank(row)),
            *(Cell(metric(name).shown(row.values[name]), label in best[name]) for name in result.metrics),
        )
        for label, row in result.rows.items()
    )
    return Table(_title(result), ("method", "bank", *result.metrics), rows, _notes(result))


def _bank(row: MethodResult) -> str:
    """ "transductive" when the test queries were the bank, "bank" when others were, "-" when none was needed."""
    return "-" if row.method == "none" else "transductive" if row.transductive else "bank"


def _title(result: Evaluation) -> str:
    s = result.settings
    line = f"{s['queries']:,} queries, {s['gallery']:,} targets"
    line += f", bank of {s['bank']:,} queries" if s["bank"] else ""
    line += f" and {s['target_bank']:,} targets" if s["target_bank"] else ""
    line += f", {s['direction']}" if s["direction"] != "forward" else ""
    line += ", targets grouped by their query (largest score)" if s["group_targets"] else ""
    line += ", self-pairs left out" if s["ignore_self"] else ""
    return line


def _notes(result: Evaluation) -> tuple[str, ...]:
    notes = []
    if result.transductive:
        shared = result.settings["test_queries_in_bank"]
        who = f"{shared:,} test queries are also in" if shared else "the test queries themselves are"
        notes.append(f"transductive: {who} the bank; no deployed system has them in advance")
    notes += strength_notes(result)
    fixed = [f"{label} {each.strength:g}" for label, each in _verdicts(result).items() if each.reason == "given"]
    if fixed:
        notes.append(f"strength: {', '.join(fixed)} (given; nothing was checked)")
    if "R@1" in next(iter(result.rows.values())).intervals:
        half = max((high - low) / 2 for low, high in (row.intervals["R@1"] for row in result.rows.values()))
        notes.append(f"{LEVEL:.0%} intervals of R@1 reach up to {half:.1f} points to either side (clustered bootstrap)")
    plans = ", ".join(row.label for row in result.rows.values() if row.sparse)
    if plans:
        notes.append(f"{plans}: most of a plan is zero; what it leaves out is tied (ties: {result.settings['ties']})")
    return (*notes, *(f"{name}: {why}" for name, why in result.skipped.items()))


def strength_notes(result: Evaluation) -> list[str]:
    """At which strength each method was served that was judged, and what was not looked at for it."""
    verdicts = _verdicts(result)
    judged = {label: each for label, each in verdicts.items() if each.reason == "judged"}
    served = {label: each for label, each in judged.items() if each.served}
    parts = []
    if served:
        each = next(iter(served.values()))
        left = f"; not checked: {', '.join(each.unchecked)}" if each.unchecked else ""
        by = " and ".join(NAMES[one.source] for one in each.evidence)
        shown = ", ".join(f"{label} {one.strength:g}" for label, one in served.items())
        parts.append(f"{shown} (supported by {by}{left})")
    parts += [f"{label} refused{_refused_by(each)}" for label, each in judged.items() if not each.served]
    notes = [f"strength: {'; '.join(parts)}"] if parts else []
    if any(each.reason == "transductive" for each in verdicts.values()):
        notes.append("strength 1: nothing is left to judge the correction by when the test queries are the bank")
    return notes


def _refused_by(verdict: Verdict) -> str:
    least = verdict.binding
    return ", since the bank is too small to judge by" if least is None else f" by {NAMES[least.source]}"


def _verdicts(result: Evaluation) -> dict[str, Verdict]:
    """The verdict on each correction, by the label of its row."""
    return {
        label: row.verdict for label, row in result.rows.items() if row.verdict is not None and row.method != "none"
    }


def _best(result: Evaluation, name: str) -> set[str]:
    """The methods with the best printed value of a metric; none if neither end of the scale is better."""
    larger = metric(name).larger_is_better
    printed = {label: float(metric(name).shown(row.values[name])) for label, row in result.rows.items()}
    if larger is None or len(set(printed.values())) == 1:
        return set()
    top = max(printed.values()) if larger else min(printed.values())
    return {label for label, value in printed.items() if value == top}
