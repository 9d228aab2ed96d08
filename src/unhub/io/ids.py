"""Ids of rows: from a file of their own, or from the file that lies beside the vectors."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unhub.foundation.pairing import ids_fingerprint, pairing_beside, record_beside, vectors_fingerprint
from unhub.foundation.types import Sliceable
from unhub.io.address import SEPARATOR, Address, check_is_file, check_not_empty, find
from unhub.io.arrays import as_array
from unhub.io.contents import choose
from unhub.io.damage import guarded
from unhub.io.formats import FORMATS, check_extension, read_contents
from unhub.io.id_values import id_strings, listed_ids
from unhub.io.text import read_json, read_lines, read_table

_BESIDE = (".ids.txt", ".ids.json", ".ids.npy")
_HEADING = re.compile(r"_?ids?|key|name|docid|qid|.+[_-]ids?", re.IGNORECASE)


def read_ids(source: Any, *, name: str = "ids") -> tuple[str, ...]:
    """The ids of a file (txt, json, npy, csv, tsv, parquet, ...) or of a list or array, as strings.

    A table gives its first column, a heading such as ``id`` or ``image_id`` left out; a file of arrays gives
    the part called ``ids`` or its only column.

    >>> read_ids(["a", 7])
    ('a', '7')
    """
    if isinstance(source, str | os.PathLike):
        return _read(find(source, name=name))
    if isinstance(source, list | tuple):
        return listed_ids(source, name)
    return id_strings(as_array(source, name=name), name)


def find_beside(address: Address) -> Path | None:
    """The first that exists of ``X.ids.txt``, ``X.ids.json`` and ``X.ids.npy`` next to ``X.npy``."""
    paths = (address.path.with_suffix(ending) for ending in _BESIDE)
    return next((path for path in paths if path.is_file()), None)


def check_pairing(address: Address, rows: Sliceable, ids: tuple[str, ...] | None) -> None:
    """Refuses vectors and ids beside them that ``unhub encode`` did not write together; others are not its business."""
    pairing = pairing_beside(address.path) if address.path.suffix.lower() == ".npy" else None
    if pairing is None:
        return
    if not pairing.finished:
        raise address.problem(
            "and its ids are being replaced by unhub encode; if that is no longer running, run the same encode command "
            "again."
        )
    if ids is None:
        return
    same = pairing.ids == ids_fingerprint(ids), pairing.vectors == vectors_fingerprint(rows)
    if not all(same):
        other = "vectors" if same[0] else "ids" if same[1] else "vectors and ids"
        raise address.problem(
            f"and its ids are no longer what unhub encode wrote together: the {other} are others; encode again, or, if "
            f"they do belong together, remove {record_beside(address.path).name}."
        )


def _read(address: Address) -> tuple[str, ...]:
    suffix = address.path.suffix.lower()
    if suffix not in _READERS:
        return _from_arrays(address)
    check_is_file(address)
    check_not_empty(address)
    with guarded(address, "ids"):
        return _READERS[suffix](address)


def _from_lines(address: Address) -> tuple[str, ...]:
    return tuple(read_lines(address))


def _from_json(address: Address) -> tuple[str, ...]:
    value = read_json(address)
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    if not isinstance(value, list):
        raise address.problem('is not a list of ids; write ["first", "second", ...].')
    return listed_ids(value, f"{address.name}: {address.path}")


def _from_table(address: Address) -> tuple[str, ...]:
    column = [cells[0] for _, cells in read_table(address)]
    heading = bool(column) and _HEADING.fullmatch(column[0]) is not None
    return tuple(column[heading:])


_READERS: dict[str, Callable[[Address], tuple[str, ...]]] = {
    ".txt": _from_lines,
    ".json": _from_json,
    ".csv": _from_table,
    ".tsv": _from_table,
}


def _from_arrays(address: Address) -> tuple[str, ...]:
    if address.path.is_file():
        check_extension(address, [*_READERS, *FORMATS])
    contents, label = read_contents(address)
    columns = [key for key in contents.parts if contents.could_be_ids(key)]
    named = [key for key in contents.id_names if key in columns] or [
        key for key in (contents.probable_ids,) if key is not None
    ]
    key = choose(address, contents, candidates=named[:1] or columns, wanted="columns of ids")
    if not contents.could_be_ids(key):
        shape = contents.parts[key].shape
        raise address.problem(f"has shape {shape}; ids are one column of text or numbers.")
    with guarded(address, label):
        return id_strings(contents.parts[key].load(), f"{address.name}: {address.path}{SEPARATOR}{key}")
