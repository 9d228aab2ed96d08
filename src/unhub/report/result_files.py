"""A ResultTable on disk: text, Markdown, LaTeX, CSV, JSON, TREC runs and qrels, and every query's values in parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unhub.experiments.experiment import Experiment
from unhub.experiments.result import Block, ResultTable, Row
from unhub.experiments.sources import ids_of, relevance_of
from unhub.foundation.atomic import replace_file
from unhub.foundation.file_names import slug
from unhub.foundation.optional import installed, require
from unhub.metrics import Interval
from unhub.report import result_tables as text
from unhub.report.latex_tables import latex

SCHEMA_VERSION = 1
FORMS: dict[str, Callable[[ResultTable], str]] = {
    "txt": text.plain,
    "md": text.markdown,
    "tex": lambda table: latex([table]),
    "csv": text.csv_lines,
}


def write(table: ResultTable, experiment: Experiment, folder: Path) -> list[Path]:
    """Writes everything of a table into a folder of its name; each file replaces an old one only when it is whole."""
    home = folder / table.name
    home.mkdir(parents=True, exist_ok=True)
    made = [write_text(home / f"table.{suffix}", form(table) + "\n") for suffix, form in FORMS.items()]
    made.append(write_text(home / "table.json", json.dumps(plain(table), indent=2, ensure_ascii=False) + "\n"))
    made += _trec(table, experiment, home)
    if installed("pyarrow"):
        made.append(_per_query(table, experiment, home / "per_query.parquet"))
    return made


def plain(table: ResultTable) -> dict[str, Any]:
    """The table as JSON can hold it: values, intervals, settings, hashes of the files, versions."""
    first = next(iter(table.blocks[0].evaluations.values()))
    return {
        "schema_version": SCHEMA_VERSION,
        "table": table.name,
        "title": table.title,
        "dataset": table.dataset,
        "model": table.model,
        "protocol": table.protocol,
        "metrics": list(table.metrics),
        "rows": [_row(row) for row in table.rows],
        "notes": list(table.notes),
        "facts": dict(table.facts),
        "evaluation": dict(first.settings),
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "bank": row.bank,
        "label": row.label,
        "method": row.method,
        "transductive": row.transductive,
        "directions": {
            way: {
                "values": dict(row.values[way]),
                "intervals": {name: list(ends) for name, ends in row.intervals[way].items()},
                "settings": dict(row.settings[way]),
                "letter": row.standing[way].letter,
                "beats": list(row.standing[way].beats),
                "better_same_worse": [row.standing[way].wins, row.standing[way].ties, row.standing[way].losses],
                "gain": _gain(row.standing[way].gain),
            }
            for way in row.values
        },
    }


def _gain(gain: Interval | None) -> dict[str, Any] | None:
    """What R@1 gains on no correction, in points, with its paired interval."""
    if gain is None:
        return None
    return {"metric": "R@1", "value": gain.value, "low": gain.low, "high": gain.high, "level": gain.level}


def _trec(table: ResultTable, experiment: Experiment, home: Path) -> list[Path]:
    """A run file for each row and direction, and the qrels of each direction, for trec_eval and its kin."""
    made = []
    for at, way in enumerate(table.directions):
        queries, targets = ids_of(experiment, reverse=at == 1)
        relevance = relevance_of(experiment, reverse=at == 1)
        pairs = zip(relevance.query_rows.tolist(), relevance.targets.tolist(), strict=True)
        lines = (f"{queries[row]} 0 {targets[column]} 1\n" for row, column in pairs)
        made.append(write_text(home / f"{slug(way)}.qrels", "".join(lines)))
        for block, row in _rows(table):
            if way in block.evaluations and row.label in block.evaluations[way].rows:
                run = "".join(_run(block.evaluations[way].rows[row.label].top, queries, targets, row.label))
                made.append(write_text(home / f"{slug(way)}.{slug(row.bank)}.{slug(row.label)}.run", run))
    return made


def _run(top: Any, queries: list[str], targets: list[str], label: str) -> Iterator[str]:
    for query, best in zip(queries, top.tolist(), strict=True):
        for rank, column in enumerate(best):
            if column >= 0:
                yield f"{query} Q0 {targets[column]} {rank + 1} {len(best) - rank} {slug(label)}\n"


def _per_query(table: ResultTable, experiment: Experiment, path: Path) -> Path:
    """One line for each query, row and direction: every metric that a query has."""
    arrow = require("pyarrow", extra="files")
    parquet = require("pyarrow.parquet", extra="files")
    parts = []
    for at, way in enumerate(table.directions):
        queries, targets = ids_of(experiment, reverse=at == 1)
        for block, row in _rows(table):
            result = block.evaluations[way].rows.get(row.label) if way in block.evaluations else None
            if result is None:
                continue
            first = [targets[each] if each >= 0 else None for each in result.top[:, 0].tolist()]
            columns: dict[str, Any] = {
                "query": queries,
                "direction": [way] * len(queries),
                "bank": [row.bank] * len(queries),
                "method": [row.label] * len(queries),
                "first": first,
            }
            parts.append(arrow.table(columns | {name: np.asarray(each) for name, each in result.per_query.items()}))
    with replace_file(path) as temporary:
        parquet.write_table(arrow.concat_tables(parts), str(temporary))
    return path


def _rows(table: ResultTable) -> Iterator[tuple[Block, Row]]:
    for block in table.blocks:
        for row in block.rows:
            yield block, row


def write_text(path: Path, content: str) -> Path:
    """Writes a text file, which replaces an old one only when it is whole."""
    with replace_file(path) as temporary:
        Path(temporary).write_text(content, encoding="utf-8")
    return path
