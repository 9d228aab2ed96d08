"""Results of experiments on disk: tables in every format, TREC runs and qrels, values per query, figures."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from unhub.api.evaluation import MethodResult
from unhub.dataset import Dataset
from unhub.experiments.figure_data import FigureData, SweepData
from unhub.experiments.reproduction import FIGURE_FOLDER, RUN, Plan, Reproduction
from unhub.experiments.result import RANKS, ResultTable, Row
from unhub.experiments.run import RANK
from unhub.foundation import VERSION, tables
from unhub.foundation.atomic import replace_file
from unhub.foundation.optional import installed, require
from unhub.foundation.safe_text import slug
from unhub.metrics import Relevance
from unhub.reports.drawing import draw
from unhub.reports.figures import notes, save
from unhub.reports.latex_tables import latex
from unhub.reports.result_tables import result_csv, result_table, sweep_csv, title

SCHEMA_VERSION = 1
GAIN = ("value", "low", "high", "level")
"""of R@1 over no correction, in points, with its paired interval"""
FORMATS: dict[str, Callable[[ResultTable], str]] = {
    "txt": lambda table: tables.text(result_table(table)),
    "md": lambda table: tables.markdown(replace(result_table(table), title=f"**{title(table)}**")),
    "tex": lambda table: latex([table]),
    "csv": result_csv,
}


class FolderWriter:
    """Writes results into a folder as they come: an observer of ``reproduce``.

    ``paths`` are the figures by the folder of their experiment; ``notes`` are about the figures.
    """

    def __init__(self, folder: str | os.PathLike[str], command: str = "") -> None:
        self.folder = Path(folder)
        self.command = command
        self.paths: dict[str, list[Path]] = {}
        self.notes: list[str] = []

    def table(self, plan: Plan, table: ResultTable) -> None:
        """Writes everything of a table."""
        folder = self.folder / plan.folder
        (folder / RUN).unlink(missing_ok=True)  # until all tables are of this run
        write(table, plan.run.data, folder)

    def tables_finished(self, plan: Plan) -> None:
        """Notes which file was run and how, for ``unhub report FOLDER``; without it the tables are not of one run."""
        facts = {
            "experiment": None if plan.run.data.path is None else str(plan.run.data.path), "bank": plan.bank,
            "protocol": plan.run.preset.name, "command": self.command, "unhub": VERSION,
        }  # fmt: skip
        folder = self.folder / plan.folder
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / RUN, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")

    def figure(self, plan: Plan, figure: FigureData) -> None:
        """Draws a figure as PDF and PNG; a sweep also as CSV."""
        folder = self.folder / plan.folder / FIGURE_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        self.paths.setdefault(plan.folder, []).extend(self._draw(figure, folder))

    def finish(self, reproduction: Reproduction) -> None:
        """Writes what spans several experiments: tables of one kind side by side, and figures."""
        if len(reproduction.experiments) > 1:
            for name in dict.fromkeys(table.name for table in reproduction.tables):
                same = [table for table in reproduction.tables if table.name == name]
                write_text(self.folder / f"{name}.tex", latex(same) + "\n")
        for figure in reproduction.figures:
            self._draw(figure, self.folder)

    def _draw(self, data: FigureData, folder: Path) -> list[Path]:
        paths, new = write_figure(data, folder)
        self.notes += [note for note in new if note not in self.notes]
        return paths


def write_reproduction(reproduction: Reproduction, folder: str | os.PathLike[str], command: str = "") -> FolderWriter:
    """Writes every table and figure of a reproduction.

    reproduction: what ``unhub.reproduce`` returned.
    folder: where to write; created if missing.
    command: the command that was run, for run.json.

    Returns the writer, with the paths of the figures and notes about them.
    """
    writer = FolderWriter(folder, command)
    for each in reproduction.experiments:
        for table in each.tables:
            writer.table(each.plan, table)
        writer.tables_finished(each.plan)
        for figure in each.figures:
            writer.figure(each.plan, figure)
    writer.finish(reproduction)
    return writer


def write_figure(data: FigureData, folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Writes a figure as PDF and PNG; returns their paths, none where nothing can be drawn, and notes about it.

    The points of a sweep are also written as CSV, even where matplotlib is missing.
    """
    figure = None
    if isinstance(data, SweepData):
        write_text(folder / f"{data.stem}.csv", sweep_csv(data.over, data.points))
    if installed("matplotlib") or not isinstance(data, SweepData):
        figure = draw(data)
    return ([], ()) if figure is None else (list(save(figure, folder / data.stem)), notes(figure))


def write(table: ResultTable, data: Dataset, folder: Path) -> list[Path]:
    """Writes everything of a table into a folder of its name; each file replaces an old one only when complete."""
    home = folder / table.name
    home.mkdir(parents=True, exist_ok=True)
    paths = [write_text(home / f"table.{suffix}", form(table) + "\n") for suffix, form in FORMATS.items()]
    paths.append(write_text(home / "table.json", json.dumps(to_dict(table), indent=2, ensure_ascii=False) + "\n"))
    paths += _trec(table, data, home)
    if installed("pyarrow"):
        paths.append(_per_query(table, data, home / "per_query.parquet"))
    return paths


def to_dict(table: ResultTable) -> dict[str, Any]:
    """The table as JSON can hold it: values, intervals, settings, hashes of the files, versions."""
    first = next(iter(table.blocks[0].evaluations.values()))
    return {
        "schema_version": SCHEMA_VERSION, "table": table.name, "title": table.title, "dataset": table.dataset,
        "model": table.model, "protocol": table.protocol, "metrics": list(table.metrics),
        "rows": [_row(row) for row in table.rows], "notes": list(table.notes), "facts": dict(table.facts),
        "evaluation": dict(first.settings),
    }  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    ways = {}
    for way, tests in row.tests.items():
        gain = tests.gain
        ways[way] = {
            "values": dict(row.values[way]),
            "intervals": {name: list(ends) for name, ends in row.intervals[way].items()},
            "settings": dict(row.settings[way]),
            "letter": tests.letter,
            "beats": list(tests.beats),
            "better_same_worse": [tests.wins, tests.ties, tests.losses],
            "gain": gain and {"metric": "R@1", **{name: getattr(gain, name) for name in GAIN}},
        }
    return {
        "bank": row.bank, "label": row.label, "method": row.method, "transductive": row.transductive,
        "directions": ways,
    }  # fmt: skip


def _trec(table: ResultTable, data: Dataset, home: Path) -> list[Path]:
    """A run file for each row and direction, and the qrels of each direction, for trec_eval and its kin."""
    paths = []
    for way, results in _results(table):
        queries, targets = (_words(each) for each in _ids(data, results))
        relevance = _ranked(data, results)
        pairs = zip(relevance.query_rows.tolist(), relevance.targets.tolist(), strict=True)
        lines = (f"{queries[row]} 0 {targets[column]} 1\n" for row, column in pairs)
        paths.append(write_text(home / f"{slug(way)}.qrels", "".join(lines)))
        for bank, label, result in results.rows:
            run = "".join(_run(result.top, queries, targets, label))
            paths.append(write_text(home / f"{slug(way)}.{slug(bank)}.{slug(label)}.run", run))
    return paths


class _Results(NamedTuple):
    """The results of one direction: whether targets are the queries, whether targets were merged, and the rows."""

    reverse: bool
    grouped: bool
    rows: tuple[tuple[str, str, MethodResult], ...]
    """bank, label and result"""


def _results(table: ResultTable) -> Iterator[tuple[str, _Results]]:
    for way in table.directions:
        blocks = [(block, block.evaluations[way]) for block in table.blocks if way in block.evaluations]
        settings = blocks[0][1].settings
        rows = tuple(
            (row.bank, row.label, evaluation.rows[row.label])
            for block, evaluation in blocks
            for row in block.rows
            if row.label in evaluation.rows
        )
        yield way, _Results(settings["direction"] == "reverse", settings["group_targets"] is not None, rows)


def _relevance(data: Dataset, results: _Results) -> Relevance:
    relevance = data.relevance("reverse" if results.reverse else "forward")
    assert relevance is not None  # it was evaluated
    return relevance


def _ranked(data: Dataset, results: _Results) -> Relevance:
    """Relevance as it was ranked: groups where targets were merged, and no item for itself."""
    relevance = _relevance(data, results)
    if data.task_type == "self-retrieval":
        return relevance.without_self()
    return relevance.grouped(relevance.groups()) if results.grouped else relevance


def _ids(data: Dataset, results: _Results) -> tuple[list[str], list[str]]:
    """The ids of queries and targets in this direction; a group is called by its first target."""
    queries, targets = (list(each.ids) for each in data.items("reverse" if results.reverse else "forward"))
    if not results.grouped:
        return queries, targets
    first = np.unique(_relevance(data, results).groups(), return_index=True)[1]
    return queries, [targets[each] for each in first.tolist()]


def _words(ids: list[str]) -> list[str]:
    """The ids without white space, which separates the columns of a run.

    >>> _words(["my photo.jpg", "b"])
    ['my%20photo.jpg', 'b']
    """
    return [re.sub(r"\s", lambda match: quote(match[0]), each) for each in ids]


def _run(top: Any, queries: list[str], targets: list[str], label: str) -> Iterator[str]:
    for query, best in zip(queries, top.tolist(), strict=True):
        for rank, column in enumerate(best):
            if column >= 0:
                yield f"{query} Q0 {targets[column]} {rank + 1} {len(best) - rank} {slug(label)}\n"


def _per_query(table: ResultTable, data: Dataset, path: Path) -> Path:
    """One line for each query, row and direction: its rank, what came first, and every metric that a query has."""
    arrow = require("pyarrow", extra="files")
    parquet = require("pyarrow.parquet", extra="files")
    parts = []
    for way, results in _results(table):
        queries, targets = _ids(data, results)
        for bank, label, result in results.rows:
            first = [targets[each] if each >= 0 else None for each in result.top[:, 0].tolist()]
            columns: dict[str, Any] = {
                "query": queries, "direction": [way] * len(queries), "bank": [bank] * len(queries),
                "method": [label] * len(queries), "first": first, "rank": np.asarray(result.per_query[RANK]),
            }  # fmt: skip
            values = {name: np.asarray(each) for name, each in result.per_query.items() if name not in RANKS}
            parts.append(arrow.table(columns | values))
    with replace_file(path) as temporary:
        parquet.write_table(arrow.concat_tables(parts), str(temporary))
    return path


def write_text(path: Path, content: str) -> Path:
    """Writes a text file, which replaces an old one only when complete."""
    with replace_file(path) as temporary:
        Path(temporary).write_text(content, encoding="utf-8")
    return path
