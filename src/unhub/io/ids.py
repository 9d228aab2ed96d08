"""Ids of rows, and other columns with one value per row: from a file, an array or a list."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.pairing import ids_fingerprint, pairing_beside, record_beside, vectors_fingerprint
from unhub.foundation.safe_text import short_repr
from unhub.foundation.types import AnyArray, Sliceable
from unhub.foundation.wording import argument
from unhub.io.address import Address, choose, find
from unhub.io.arrays import as_array
from unhub.io.formats import FORMATS, read_contents
from unhub.io.limits import check_loaded_whole
from unhub.io.text import read_json, read_lines, read_table

TEXTS = (".txt", ".csv", ".tsv", ".json")

_BESIDE = (".ids.txt", ".ids.json", ".ids.npy")
_HEADING = re.compile(r"_?ids?|key|name|docid|qid|.+[_-]ids?", re.IGNORECASE)


class Ids(tuple[str, ...]):
    """Ids as text; ``integers`` says that all of them were whole numbers in their source."""

    integers: bool = False

    @classmethod
    def of_integers(cls, values: Iterable[int]) -> Ids:
        """The digits of whole numbers."""
        ids = cls(map(str, values))
        ids.integers = True
        return ids

    def original(self) -> list[str] | list[int]:
        """The ids as they came: numbers where they were whole numbers, text otherwise.

        >>> Ids.of_integers([7, 8]).original(), Ids(["7", "8"]).original()
        ([7, 8], ['7', '8'])
        """
        return list(map(int, self)) if self.integers else list(self)


def id_strings(values: Any, subject: str) -> Ids:
    """The ids as strings; whole numbers become their digits. Errors begin with ``subject``.

    >>> id_strings(np.array([7, 8]), "ids")
    ('7', '8')
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{subject} has shape {array.shape}; ids are one column: one id for each row.")
    if array.dtype.kind in "iu":
        return Ids.of_integers(array.tolist())
    if array.dtype.kind in "UT":
        return _check_utf8(Ids(map(str, array.tolist())), subject)
    return listed_ids(array.tolist(), subject)


def listed_ids(values: Sequence[Any], subject: str) -> Ids:
    """The ids of a list that may mix text and numbers."""
    if values and all(kind is int or issubclass(kind, np.integer) for kind in set(map(type, values))):
        return Ids.of_integers(values)
    return _check_utf8(Ids(_id_text(value, row, subject) for row, value in enumerate(values)), subject)


def _id_text(value: object, row: int, subject: str) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    known = isinstance(value, str | int | np.integer) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not known:
        raise InputError(
            f"{subject} has {short_repr(value)} as id of row {row} (rows count from 0); give text or a number."
        )
    return str(int(value)) if isinstance(value, float) else str(value)


def _check_utf8(ids: Ids, subject: str) -> Ids:
    """The ids, if all can be written as UTF-8: JSON can hold half of a character, which no text file can."""
    try:
        "".join(ids).encode()
    except UnicodeEncodeError as error:
        row, text = next((row, text) for row, text in enumerate(ids) if re.search("[\ud800-\udfff]", text))
        raise InputError(
            f"{subject} has {short_repr(text)} as id of row {row} (rows count from 0), and a part of it is half of a "
            "character (a lone surrogate); write the ids again as UTF-8 text."
        ) from error
    return ids


def read_ids(source: Any, *, name: str = "ids") -> Ids:
    """The ids of a file (txt, json, npy, csv, tsv, parquet, ...) or of a list or array, as strings.

    A table gives its first column, a heading such as ``id`` or ``image_id`` left out; a file of arrays gives
    the part called ``ids`` or its only column.

    >>> read_ids(["a", 7])
    ('a', '7')
    """
    if isinstance(source, str | os.PathLike):
        return _read(find(source, name=name))
    if isinstance(source, list | tuple):
        return listed_ids(source, argument(name))
    return id_strings(as_array(source, name=name), argument(name))


def find_beside(address: Address) -> Path | None:
    """The file of ids next to ``X.npy``: the first that exists of ``X.ids.txt``, ``X.ids.json`` and ``X.ids.npy``."""
    paths = (address.path.with_suffix(ending) for ending in _BESIDE)
    return next((path for path in paths if path.is_file()), None)


def check_pairing(address: Address, rows: Sliceable, ids: tuple[str, ...] | None) -> None:
    """An error if ``unhub encode`` wrote the vectors or the ids next to them, but not both together."""
    pairing = pairing_beside(address.path) if address.suffix == ".npy" else None
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


def _read(address: Address) -> Ids:
    if not address.path.is_dir():
        address.check_file([*_READERS, *FORMATS])
    if address.suffix not in _READERS:
        return _from_arrays(address)
    with address.reading("ids"):
        return _READERS[address.suffix](address)


def _from_json(address: Address) -> Ids:
    value = read_json(address)
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    if not isinstance(value, list):
        raise address.problem('is not a list of ids; write ["first", "second", ...].')
    return listed_ids(value, address.subject())


def _from_table(address: Address) -> Ids:
    column = [cells[0] for _, cells in read_table(address)]
    heading = bool(column) and _HEADING.fullmatch(column[0]) is not None
    return Ids(column[heading:])


_READERS: dict[str, Callable[[Address], Ids]] = {
    ".txt": lambda address: Ids(read_lines(address)),
    ".json": _from_json,
    ".csv": _from_table,
    ".tsv": _from_table,
}


def _from_arrays(address: Address) -> Ids:
    contents, label = read_contents(address)
    columns = [key for key in contents.parts if contents.could_be_ids(key)]
    named = [key for key in (*contents.id_names, contents.probable_ids) if key in columns]
    key = choose(address, contents, candidates=named[:1] or columns, wanted="columns of ids")
    if not contents.could_be_ids(key):
        shape = contents.parts[key].shape
        raise address.problem(f"has shape {shape}; ids are one column of text or numbers.")
    with address.reading(label):
        return id_strings(contents.parts[key].load(), address.subject(key))


def read_numbers(source: Any, *, name: str) -> AnyArray:
    """One column of numbers from a path (text with one in each line, ``file.npz::key``), an array or a list.

    >>> read_numbers([1, 2.5], name="query_weight").tolist()
    [1.0, 2.5]
    """
    if not isinstance(source, str | os.PathLike):
        return as_array(source, name=name)
    address = find(source, name=name)
    values = np.array(read_ids(source, name=name)) if address.suffix in TEXTS else read_column(address)
    try:
        return values.astype(np.float64)
    except ValueError as error:
        raise address.problem(f"holds something that is not a number ({error}); give numbers.") from None


def read_column(address: Address) -> AnyArray:
    """The array that the address names, or the only column of the file, read whole."""
    contents, label = read_contents(address)
    columns = [key for key in contents.parts if contents.could_be_ids(key) and key not in contents.id_names]
    key = choose(address, contents, candidates=columns, wanted="columns of values")
    part = contents.parts[key]
    if 0 in part.shape:
        raise InputError(f"{address.subject(key)} has shape {part.shape}: there are no values; give at least one.")
    with address.reading(label):
        values = np.asarray(part.load()[:])
        if values.dtype == object:
            longest = max((len(str(each)) for each in values.ravel().tolist()), default=0)
            check_loaded_whole(address, key, 4 * longest * values.size)  # NumPy pads every text to the longest
            values = values.astype(str)
    return values.ravel() if values.ndim == 2 and 1 in values.shape else values
