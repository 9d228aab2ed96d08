"""Texts, paths and ids from text files: lines, or the columns of a table."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import read_regular

USUAL = (
    "text", "caption", "sentence", "title", "query", "content", "path", "file", "filename", "file_name", "filepath",
    "image", "audio", "video",
)  # fmt: skip
"""names of the column that is encoded, the first that is there"""

IDS = re.compile(r"_?id|key|docid|qid|.+[_-]id", re.IGNORECASE)


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; an empty one is an error unless only empty ones follow."""
    lines = _text(path).rstrip().split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            raise InputError(f"{path} has nothing in line {number}; write one text or path in each line.")
    return [line.strip() for line in lines]


def read_table(path: Path, column: str | None, ids: str | None) -> tuple[list[str], list[str] | None]:
    """The column of texts or paths, and that of ids: the ones named, or those with a usual name; ids may be None."""
    rows = TABLES[path.suffix.lower()](path)
    if not rows:
        raise InputError(f"{path} has no rows; write or copy it again.")
    names = list(rows[0])
    chosen = column or next((name for name in USUAL if name in names), None)
    if chosen is None:
        raise InputError(f"{path} has the columns {', '.join(names)}; say which to encode with column (--column).")
    ids = ids or next((name for name in names if IDS.fullmatch(name) and name != chosen), None)
    texts = [_cell(path, row, chosen, number) for number, row in enumerate(rows, start=1)]
    return texts, None if ids is None else [_cell(path, row, ids, number) for number, row in enumerate(rows, start=1)]


def _cell(path: Path, row: dict[str, Any], column: str, number: int) -> str:
    value = row.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        came = f"its columns are {', '.join(row)}" if value is None else f"it holds {value!r}"
        raise InputError(f"{path} has no text in column {column!r} of row {number}; {came}.")
    return value.strip()


def _separated(delimiter: str) -> Callable[[Path], list[dict[str, Any]]]:
    def read(path: Path) -> list[dict[str, Any]]:
        try:
            return list(csv.DictReader(_text(path).splitlines(keepends=True), delimiter=delimiter, strict=True))
        except csv.Error as error:
            raise InputError(f"{path} is not a table: {error}; write or copy it again.") from error

    return read


def _json_lines(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        try:
            row = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} line {number} is not valid JSON: {error}; write or copy it again.") from error
        if row is not None and not isinstance(row, dict):
            raise InputError(f'{path} line {number} is not an object; write {{"id": .., "text": ..}} in each line.')
        rows += [] if row is None else [row]
    return rows


def _text(path: Path) -> str:
    try:
        text = read_regular(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start:,}); save it as UTF-8.") from error
    if not text.strip():
        raise InputError(f"{path} is empty; write or copy it again.")
    return text.replace("\r\n", "\n")


TABLES: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".jsonl": _json_lines,
}
