"""An Evaluation as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from unhub.foundation.tables import Cell, Table, csv_text
from unhub.metrics import LEVEL, metric

if TYPE_CHECKING:
    from unhub.api.evaluation import Evaluation, MethodResult

TRANSDUCTIVE = "transductive"
PLANS = ("otn", "l2n", "hn", "sparse_k")


def rendered(result: Evaluation, renderer: Callable[[Table], str]) -> str:
    """The table of one direction, or of both under their headings."""
    return "\n\n".join(renderer(evaluation_table(each)) for each in (result, result.reverse) if each is not None)


def evaluation_table(result: Evaluation) -> Table:
    """A row for each method: its label, where its knowledge came from, and the metrics."""
    best = {name: _best(result, name) for name in result.metrics}
    rows = tuple(
        (
            Cell(label),
            Cell(_bank(row)),
            *(Cell(value_text(name, row.values[name]), label in best[name]) for name in result.metrics),
        )
        for label, row in result.rows.items()
    )
    return Table(_title(result), ("method", "bank", *result.metrics), rows, _notes(result))


def evaluation_csv(result: Evaluation) -> str:
    """CSV: direction, method, bank, every metric and its interval where it has one."""
    ends = [name for name in result.metrics if name in next(iter(result.rows.values())).intervals]
    titles = [f"{name} {end}" for name in ends for end in ("low", "high")]
    rows = [
        [
            each.settings["direction"], row.label, _bank(row), *(row.values[name] for name in result.metrics),
            *(end for name in ends for end in row.intervals[name]),
        ]
        for each in (result, result.reverse) if each is not None
        for row in each.rows.values()
    ]  # fmt: skip
    return csv_text(["direction", "method", "bank", *result.metrics, *titles], rows)


def value_text(name: str, value: float) -> str:
    """A value with as many digits as its metric is read with.

    >>> value_text("R@1", 23.456), value_text("skew@10", 0.5)
    ('23.5', '0.50')
    """
    return metric(name).shown(value)


def _bank(row: MethodResult) -> str:
    """ "transductive" when the test queries were the bank, "bank" when others were, "-" when none was needed."""
    return "-" if row.method == "none" else TRANSDUCTIVE if row.transductive else "bank"


def _title(result: Evaluation) -> str:
    """One line that says what was searched for what."""
    s = result.settings
    line = f"{s['queries']:,} queries, {s['gallery']:,} targets"
    line += f", bank of {s['bank']:,} queries" if s["bank"] else ""
    line += f" and {s['target_bank']:,} targets" if s["target_bank"] else ""
    line += f", {s['direction']}" if s["direction"] != "forward" else ""
    line += ", targets grouped by their query (largest score)" if s["group_targets"] else ""
    line += ", self-pairs left out" if s["ignore_self"] else ""
    return line


def _notes(result: Evaluation) -> tuple[str, ...]:
    """What a reader must know beside the numbers."""
    notes = []
    if result.transductive:
        shared = result.settings["test_queries_in_bank"]
        who = f"{shared:,} test queries are also in" if shared else "the test queries themselves are"
        notes.append(f"transductive: {who} the bank; no deployed system has them in advance")
    if "R@1" in next(iter(result.rows.values())).intervals:
        half = max((high - low) / 2 for low, high in (row.intervals["R@1"] for row in result.rows.values()))
        notes.append(f"{LEVEL:.0%} intervals of R@1 reach up to {half:.1f} points to either side (clustered bootstrap)")
    plans = ", ".join(row.label for row in result.rows.values() if row.method in PLANS)
    if plans:
        notes.append(f"{plans}: most of a plan is zero; what it leaves out is tied (ties: {result.settings['ties']})")
    return (*notes, *(f"{name}: {why}" for name, why in result.skipped.items()))


def _best(result: Evaluation, name: str) -> set[str]:
    """The methods with the best printed value of a metric; none where no end of the scale is the better one."""
    larger = metric(name).larger_is_better
    printed = {label: float(value_text(name, row.values[name])) for label, row in result.rows.items()}
    if larger is None or len(set(printed.values())) == 1:
        return set()
    top = max(printed.values()) if larger else min(printed.values())
    return {label for label, value in printed.items() if value == top}
