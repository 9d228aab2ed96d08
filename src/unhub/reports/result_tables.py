"""Results of experiments as tables: a ResultTable, the points of a sweep, and our values next to the paper's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unhub.experiments.reference import DOUBTED, Comparison
from unhub.experiments.result import (
    SIGNIFICANCE,
    SPARSITY,
    TRANSDUCTIVE,
    PairwiseTests,
    ResultTable,
    Row,
    metric_title,
    row_title,
)
from unhub.experiments.sweep_cache import Point, strength_note
from unhub.foundation.tables import Cell, Table, csv_text
from unhub.metrics import LEVEL, metric

TIES = {"optimistic": "equal scores count for the query", "average": "equal scores share their ranks"}


def result_table(table: ResultTable) -> Table:
    """A row for each method and bank, marked by its letter, and R@1 by the letters of the rows it beats."""
    several = len(table.directions) > 1
    names = [(way, metric_title(table.name, name)) for way, name in _columns(table)]
    columns = ("method", "bank", *(f"{way} {name}" if several else name for way, name in names))
    rows = tuple(_cells(table, row, at) for at, row in enumerate(table.rows))
    return Table(title(table), columns, rows, _notes(table))


def result_csv(table: ResultTable) -> str:
    """One line for each row, direction and metric, with its interval and its settings."""
    lines: list[list[object]] = []
    for row in table.rows:
        for direction, name in _columns(table):
            if name not in row.values.get(direction, {}):
                continue
            low, high = row.intervals[direction].get(name, ("", ""))
            tests = row.tests[direction]
            paired = tests.gain if name == "R@1" else None
            gain = ("", "", "") if paired is None else (paired.value, paired.low, paired.high)
            settings = " ".join(f"{key}={value}" for key, value in row.settings[direction].items())
            lines.append(
                [table.name, table.dataset, table.model, table.protocol, direction, row.bank, row.label, name,
                 row.values[direction][name], low, high, tests.beats, tests.wins, tests.ties, tests.losses,
                 *gain, row.transductive, settings]
            )  # fmt: skip
    return csv_text(
        ["table", "dataset", "model", "protocol", "direction", "bank", "method", "metric", "value", "low", "high",
         "beats", "wins", "ties", "losses", "gain", "gain_low", "gain_high", "transductive", "settings"], lines,
    )  # fmt: skip


def sweep_table(over: str, points: Sequence[Point]) -> Table:
    """A row for each place and method, with the mean of each metric and its spread over the rounds."""
    metrics = list(dict.fromkeys(name for point in points for name in point.values))
    rows = []
    for at, label, method in dict.fromkeys((point.at, point.label, point.method) for point in points):
        same = [point for point in points if (point.at, point.label, point.method) == (at, label, method)]
        place = "" if method == "none" else label or f"{at:.4g}"
        means = (_mean([point.values[name] for point in same if name in point.values]) for name in metrics)
        rows.append(tuple(map(Cell, (place, row_title(method), *means))))
    note = "" if over == "strength" else strength_note([point for point in points if point.method != "none"])
    return Table(f"sweep over {over}", (over, "method", *metrics), tuple(rows), (note,) if note else (), left=(1,))


def sweep_csv(over: str, points: Sequence[Point]) -> str:
    """One line for each point and metric."""
    lines = []
    for point in points:
        for name, value in point.values.items():
            low, high = point.interval if name == "R@1" and point.interval else ("", "")
            lines.append([over, point.at, point.label, point.round, point.bank, point.method, name, value, low, high])
    return csv_text(["sweep", "at", "label", "round", "bank", "method", "metric", "value", "low", "high"], lines)


def comparison_table(table: ResultTable, comparisons: Sequence[Comparison]) -> Table:
    """Ours, theirs and the difference; a printed value that cannot be right is shown without a difference."""
    rows = []
    for each in comparisons:
        difference = "" if each.difference is None else f"{each.difference:+.{3 if each.metric == SPARSITY else 1}f}"
        row = (
            row_title(each.method), each.bank, each.direction, metric_title(table.name, each.metric),
            number(each.metric, each.ours), number(each.metric, each.theirs.value), difference,
            DOUBTED.get(each.theirs.flag, ""),
        )  # fmt: skip
        rows.append(tuple(map(Cell, row)))
    columns = ("method", "bank", "direction", "metric", "ours", "paper", "difference", "")
    heading = f"compared with the paper: {table.dataset}, {table.model}" + ("" if rows else ": it has no such values")
    return Table(heading, columns, tuple(rows), left=(0, 1, 2, 3, 7))


def title(table: ResultTable) -> str:
    """What a table is about, in one line."""
    return f"{table.title}: {table.dataset}, {table.model} (protocol: {table.protocol})"


def number(name: str, value: float) -> str:
    """A value with as many digits as the paper gives it."""
    return f"{value:.3f}" if name == SPARSITY else metric(name).shown(value)


def shared(table: ResultTable) -> str:
    """Which test queries are in the bank: all of them, or a count for each bank."""
    counts = dict.fromkeys(
        f"{block.bank.partition(' & ')[0]} {way} {each.settings['test_queries_in_bank']:,} of "
        f"{each.settings['queries']:,}"
        for block in table.blocks
        for way, each in block.evaluations.items()
        if each.settings["test_queries_in_bank"]
    )
    return f"test queries ({', '.join(counts)}) are" if counts else "the test queries are"


def _columns(table: ResultTable) -> list[tuple[str, str]]:
    return [(direction, name) for direction in table.directions for name in table.metrics]


def _cells(table: ResultTable, row: Row, at: int) -> tuple[Cell, ...]:
    """The name of a row with its letter, its bank, and its values."""
    letter = next(iter(row.tests.values())).letter
    bank = "-" if row.method == "none" else f"{row.bank} ({TRANSDUCTIVE})" if row.transductive else row.bank
    cells = [Cell(f"{row_title(row.label)} ({letter})"), Cell(bank)]
    for direction, name in _columns(table):
        values = row.values.get(direction, {})
        beats = row.tests[direction].beats if direction in row.tests and name == "R@1" else ""
        value = number(name, values[name]) if name in values else "-"
        cells.append(Cell(value, at in table.best(direction, name), beats))
    return tuple(cells)


def _notes(table: ResultTable) -> tuple[str, ...]:
    """What letters and marks mean, each row against no correction, and the notes of the run."""
    first = metric_title(table.name, "R@1")
    notes = [f"letters: rows that a row beats at {first} (exact McNemar, Holm over all pairs of its block, "
             f"{SIGNIFICANCE:.0%})"]  # fmt: skip
    if any(row.transductive for row in table.rows):
        notes.append(f"{TRANSDUCTIVE}: {shared(table)} in the bank; no deployed system has them in advance")
    notes += table.strengths
    if table.name != "variants":  # which says more about them
        ties = dict.fromkeys(each.settings["ties"] for block in table.blocks for each in block.evaluations.values())
        notes.append(f"ties: {', '.join(f'{each} ({TIES[each]})' if each in TIES else each for each in ties)}")
    notes.append(f"against no correction: queries ranked better / same / worse, and the gain of {first} (paired, "
                 f"{LEVEL:.0%})")  # fmt: skip
    for row in table.rows:
        if row.method != "none":
            against = "; ".join(f"{way} {_against(each)}" for way, each in row.tests.items())
            notes.append(f"{row_title(row.label)}, {row.bank}: {against}")
    return (*notes, *table.notes)


def _against(tests: PairwiseTests) -> str:
    counts = f"{tests.wins} / {tests.ties} / {tests.losses}"
    if tests.gain is None:
        return counts
    return f"{counts}, {tests.gain.value:+.1f} [{tests.gain.low:+.1f}, {tests.gain.high:+.1f}]"


def _mean(values: list[float]) -> str:
    if not values:
        return "-"
    spread = f" ± {np.std(values):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"
