"""What to encode: a folder, a pattern, one file, lines of text, or a column of a table; each item has an id."""

from __future__ import annotations

import csv
import glob
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unhub.encoders.media import ENDINGS, KINDS, kind_of
from unhub.encoders.parts import ids_beside
from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import decode_text, read_regular, text_lines
from unhub.foundation.wording import argument, counted, there_are

MAGIC = ("*", "?", "[")
TABLES = (".csv", ".tsv", ".jsonl")
DRAFTED = 32  # letters of a name at the start of its temporary file, after a dot
USUAL = (
    "text", "caption", "sentence", "title", "query", "content", "path", "file", "filename", "file_name", "filepath",
    "image", "audio", "video",
)  # fmt: skip
"""usual names of the column to encode; the first that exists is taken"""

IDS = re.compile(r"_?id|key|docid|qid|.+[_-]id", re.IGNORECASE)


@dataclass(frozen=True)
class Items:
    """Items of one kind, in order, and the id of each: texts, or the paths of files."""

    kind: str
    values: tuple[str | Path, ...]
    ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.values)


def read_items(
    source: str | os.PathLike[str],
    *,
    kind: str = "auto",
    column: str | None = None,
    ids: str | Sequence[str] | None = None,
    out: Path | None = None,
) -> Items:
    """The items of a source, with ids that are unique.

    source: a folder (every file of the kind in it, ids are their paths inside), a pattern such as ``shots/*.png``, one
        media file, a ``.txt`` with one text or one path in each line, or a ``.jsonl``, ``.csv`` or ``.tsv`` with a
        column of texts or paths.
    kind: text, image, audio or video; "auto", the default, follows the endings of the files.
    column: the name of that column; None takes one with a usual name.
    ids: the name of the column of ids, or the ids; None takes a column with a usual name, else paths or row numbers.
    out: where the embeddings will be written; the ids next to it are no input, in whatever folder they are.

    Returns the items, all of one kind.
    """
    if kind not in ("auto", *KINDS):
        raise InputError("kind", f"is {kind!r}", f"choose auto, {', '.join(KINDS)}")
    path = Path(os.path.expanduser(os.fspath(source)))
    if path.suffix.lower() in TABLES and path.is_file():
        texts, own_ids = _read_table(path, column, ids if isinstance(ids, str) else None)
        items = _listed(path, texts, own_ids, kind)
    elif column is not None or isinstance(ids, str):
        name, value = ("column", column) if column is not None else ("ids", ids)
        raise InputError(name, f"is {value!r}, but {path} is not a .jsonl, .csv or .tsv file and has no columns")
    elif path.suffix.lower() == ".txt" and path.is_file():
        items = _listed(path, text_lines(_text(path), str(path), content="text or path"), None, kind)
    else:
        items = _files(path, kind, out)
    return _check_ids(items, path, None if isinstance(ids, str) else ids)


def read_texts(source: str | os.PathLike[str], *, column: str | None = None) -> list[str]:
    """The texts of a ``.txt`` (a line each) or a table (a column), in order, stripped; some may be empty.

    column: of a .jsonl, .csv or .tsv; None takes one with a usual name.
    """
    path = Path(os.path.expanduser(os.fspath(source)))
    if path.suffix.lower() not in (".txt", *TABLES):
        raise InputError(f"{path} is no file of texts; give a .txt with a line for each, or a .jsonl, .csv or .tsv.")
    if path.suffix.lower() == ".txt":
        if column is not None:
            raise InputError("column", f"is {column!r}, but {path} is not a .jsonl, .csv or .tsv and has no columns")
        return [line.strip() for line in _text(path).splitlines()]
    rows = _table_rows(path)
    names = list(dict.fromkeys(name for row in rows for name in row))
    chosen = column or next((name for name in USUAL if name in names), None)
    if chosen not in names:
        came = f"is {column!r}, which {path} has not" if column else f"is missing for {path}"
        raise InputError("column", came, f"its columns are {', '.join(names) or 'none'}")
    return ["" if row.get(chosen) is None else str(row[chosen]).strip() for row in rows]


def _files(path: Path, kind: str, out: Path | None) -> Items:
    """The files of a folder or a pattern, or one file, in the order of their names."""
    root, files = path.parent, [path]
    if path.is_dir():
        root, files = path, [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
    elif not path.exists() and any(sign in str(path) for sign in MAGIC):
        files = [Path(name) for name in glob.glob(str(path), recursive=True) if os.path.isfile(name)]
        while any(sign in str(root) for sign in MAGIC):
            root = root.parent
    elif not path.exists():
        raise InputError(f"there is no file or folder {path}; check the path.")
    files = [file for file in files if out is None or not _is_output(file, out)]
    if kind == "auto":
        counts = Counter(each for each in map(kind_of, files) if each is not None)
        media = {each: count for each, count in counts.items() if each != "text"} or counts
        if not media:
            advice = f"pass {argument('kind')}"
            raise InputError(f"{path} has no file whose ending says image, audio, video or text; {advice}.")
        if len(media) > 1:
            listed = ", ".join(f"{count:,} {each}" for each, count in sorted(media.items()))
            raise InputError(f"{path} has files of several kinds ({listed}); choose one with {argument('kind')}.")
        (kind,) = media
    of_kind = sorted(file for file in files if file.suffix.lower() in ENDINGS[kind])
    if not of_kind:
        raise InputError(f"{path} has no {kind} file; their names end in {', '.join(sorted(ENDINGS[kind]))}.")
    return Items(kind, tuple(of_kind), tuple(file.relative_to(root).as_posix() for file in of_kind))


def _is_output(file: Path, out: Path) -> bool:
    """Whether it is the file of ids next to the output, or what a kill left of one."""
    ids = ids_beside(out)
    is_draft = file.name.startswith(f".{ids.stem[:DRAFTED]}") and file.suffix == ids.suffix
    return (file.name == ids.name or is_draft) and os.path.samefile(file.absolute().parent, out.absolute().parent)


def _listed(path: Path, texts: list[str], ids: list[str] | None, kind: str) -> Items:
    """Texts, or the files whose paths they are, relative to the folder of the list."""
    kinds = {kind_of(text) for text in texts}
    if kind == "auto":
        (only,) = kinds if len(kinds) == 1 else (None,)
        kind = only if only is not None and only != "text" and _resolved(path, texts[0]).is_file() else "text"
    if kind == "text":
        return Items(kind, tuple(texts), tuple(ids or map(str, range(len(texts)))))
    files = [_resolved(path, text) for text in texts]
    missing = [text for text, file in zip(texts, files, strict=True) if not file.is_file()]
    if missing:
        raise InputError(
            f"{path} names {len(missing):,} files that do not exist, such as {missing[0]!r}; write paths relative "
            f"to {path.absolute().parent}, or name the column of paths with {argument('column')}."
        )
    return Items(kind, tuple(files), tuple(ids or texts))


def _resolved(beside: Path, text: str) -> Path:
    return beside.absolute().parent / os.path.expanduser(text)


def _check_ids(items: Items, path: Path, ids: Sequence[str] | None) -> Items:
    """The items with these ids, or their own; an error unless they are unique and a file of lines can hold them."""
    chosen = items.ids if ids is None else tuple(ids)
    if len(chosen) != len(items):
        raise InputError(
            f"{path} has {counted(len(items), 'item')} but {there_are(len(chosen), 'id')}; give one for each."
        )
    odd = next((each for each in chosen if each != each.strip() or not each or "\n" in each or "\r" in each), None)
    if odd is not None:
        advice = f"give other {argument('ids')}"
        raise InputError(f"the id {odd!r} is empty, or has a line end or a space at an end; {advice}.")
    twice = [each for each, count in Counter(chosen).items() if count > 1]
    if twice:
        advice = f"give other {argument('ids')}"
        raise InputError(f"{path}: {len(twice):,} ids are not unique, such as {twice[0]!r}; {advice}.")
    return Items(items.kind, items.values, chosen)


def _read_table(path: Path, column: str | None, ids: str | None) -> tuple[list[str], list[str] | None]:
    """The column of texts or paths, and that of ids: the named ones, or those with a usual name; ids may be None."""
    rows = _table_rows(path)
    if not rows:
        raise InputError(f"{path} has no rows; write or copy it again.")
    names = list(rows[0])
    chosen = column or next((name for name in USUAL if name in names), None)
    if chosen is None:
        advice = f"name the one to encode with {argument('column')}"
        raise InputError(f"{path} has the columns {', '.join(names)}; {advice}.")
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


def _table_rows(path: Path) -> list[dict[str, Any]]:
    text = _text(path)
    if path.suffix.lower() != ".jsonl":
        delimiter = "," if path.suffix.lower() == ".csv" else "\t"
        try:
            return list(csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter, strict=True))
        except csv.Error as error:
            raise InputError(f"{path} is not a table: {error}; write or copy it again.") from error
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            row = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} line {number} is not valid JSON: {error}; write or copy it again.") from error
        if row is not None and not isinstance(row, dict):
            raise InputError(f'{path} line {number} is not an object; write {{"id": .., "text": ..}} in each line.')
        rows += [] if row is None else [row]
    return rows


def _text(path: Path) -> str:
    text = decode_text(read_regular(path), str(path))
    if not text.strip():
        raise InputError(f"{path} is empty; write or copy it again.")
    return text.replace("\r\n", "\n")
