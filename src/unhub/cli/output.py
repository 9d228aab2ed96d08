"""Files that commands write: checked before the work, and written completely or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from unhub.cli.console import printable, say
from unhub.foundation.errors import InputError
from unhub.foundation.pairing import record_beside
from unhub.io import replace_file
from unhub.io.address import SEPARATOR, Address
from unhub.io.ids import find_beside

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def option(help: str) -> Any:
    """The flag ``-o`` of a command."""
    return typer.Option("-o", "--output", metavar="FILE", help=help, show_default=False)


def check(path: str | None, endings: Sequence[str], inputs: Iterable[str | None] = ()) -> bool:
    """Whether the output exists already and will be replaced.

    Refuses a missing folder, an ending that the command does not write, and the name of an input.
    """
    if path is None:
        return False
    target = Path(path).expanduser()
    if ending(path) not in endings:
        suffix = f"has the ending {ending(path)!r}" if ending(path) else "has no ending"
        raise InputError(f"-o {path} {suffix}; this command writes {', '.join(endings)}.")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: there is no folder {target.parent}; create it first.")
    if target.is_dir():
        raise InputError(f"cannot write {target}: it is a folder; name a file.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"cannot write {target}: permission denied in {target.parent}; choose another folder.")
    read = [Path(each.partition(SEPARATOR)[0]).expanduser() for each in inputs if each is not None]
    if any(same_file(each, target) for given in read for each in (given, *_beside(given))):
        raise InputError(f"-o {path} is also an input and would be overwritten; choose another name.")
    return target.exists()


def ending(path: str) -> str:
    """The file ending that decides the format: ".csv" of "hits.CSV"."""
    return Path(path).suffix.lower()


def write_text(path: str, text: str) -> None:
    """Write the text and a final newline, completely or not at all."""
    with replace_file(path) as temporary:
        temporary.write_text(
            text if text.endswith("\n") else f"{text}\n", encoding="utf-8", errors="backslashreplace", newline="\n"
        )


def table_text(kind: str, titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The rows as ".csv", ".tsv" or ".jsonl"."""
    if kind == ".jsonl":
        return "".join(f"{json.dumps(dict(zip(titles, row, strict=True)), ensure_ascii=False)}\n" for row in rows)
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter=_DELIMITERS[kind], lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return lines.getvalue()


def tell(path: str, what: str, *, replaced: bool) -> None:
    """Say what was written, and whether it replaced a file."""
    say(f"{'replaced' if replaced else 'wrote'} {printable(path)}: {what}")


def same_file(first: Path, second: Path) -> bool:
    """Whether both exist and are the same file, links followed."""
    return first.exists() and second.exists() and os.path.samefile(first, second)


def _beside(vectors: Path) -> list[Path]:
    """Files that are read along with a file of vectors: its ids, and the record of encode."""
    if not vectors.is_file():
        return []
    ids = find_beside(Address("output", vectors))
    return [record_beside(vectors), *([] if ids is None else [ids])]
