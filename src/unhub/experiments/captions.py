"""What items say: a line for each; an empty one falls back on the item's id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import read_regular
from unhub.io import read_ids

TEXT = ".txt"


def read_captions(source: str, name: str, ids: Sequence[str], what: str) -> Sequence[str]:
    """The caption of each item; name: of the argument, what: the items are called in a sentence."""
    path = Path(source).expanduser()
    if path.suffix.lower() == TEXT and path.is_file():
        try:
            lines = read_regular(path, name=name).decode("utf-8-sig").replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError as error:
            raise InputError(f"{name}: {path} is not UTF-8 text (byte {error.start:,}); save it as UTF-8.") from error
        found: Sequence[str] = [line.strip() for line in (lines[:-1] if lines[-1] == "" else lines)]
    else:
        found = read_ids(source, name=name)
    if len(found) != len(ids):
        raise InputError(f"{name} has {len(found):,} lines but there are {len(ids):,} {what}; write one line for each.")
    return [caption or own for caption, own in zip(found, ids, strict=True)]
