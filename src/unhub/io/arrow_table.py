"""Arrow tables on disk: columns of vectors are decoded chunk by chunk, other columns whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from unhub.foundation.optional import require
from unhub.foundation.types import AnyArray
from unhub.io.address import Address
from unhub.io.contents import Contents, Part
from unhub.io.limits import check_loaded_whole


class ChunkedRows:
    """Rows behind ``load(chunk)``, which gives (rows of the chunk, dim); the last chunk is kept.

    Blocks are asked for in order, so that one kept chunk decodes each only once in a pass. Threads may share it if
    they may call ``load`` at once: each goes on with the chunk it has in hand when another one is kept.
    """

    def __init__(
        self, lengths: Sequence[int], dim: int, dtype: np.dtype[Any], load: Callable[[int, int], AnyArray]
    ) -> None:
        self._starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        self._load = load
        self._kept: tuple[int, AnyArray] | None = None
        self.shape = (int(self._starts[-1]), dim)
        self.dtype = dtype

    def __getitem__(self, rows: slice) -> AnyArray:
        start, stop, _ = rows.indices(self.shape[0])
        first, last = np.searchsorted(self._starts, [start, stop - 1], side="right") - 1
        if start >= stop:
            return np.empty((0, self.shape[1]), self.dtype)
        if first == last:
            return self._slice(int(first), start, stop)
        out = np.empty((stop - start, self.shape[1]), self.dtype)
        for chunk in range(int(first), int(last) + 1):
            low, high = max(start, self._starts[chunk]), min(stop, self._starts[chunk + 1])
            out[low - start : high - start] = self._slice(chunk, low, high)
        return out

    def _slice(self, chunk: int, start: int, stop: int) -> AnyArray:
        offset = int(self._starts[chunk])
        kept = self._kept
        if kept is None or kept[0] != chunk:
            kept = self._kept = (chunk, self._load(chunk, offset))
        return kept[1][start - offset : stop - offset]


_DTYPES = {
    **{name: name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")},
    "halffloat": "f2",
    "float": "f4",
    "double": "f8",
    "string": "U",
    "large_string": "U",
}


def storage_type(kind: Any) -> Any:
    """The plain type of a column: what an extension type stores, the values behind a dictionary."""
    pa = require("pyarrow", extra="files")
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_vectors(kind: Any) -> bool:
    """Whether the values of a column are lists."""
    types = require("pyarrow", extra="files").types
    return bool(types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind))


def element_dtype(kind: Any) -> np.dtype[Any]:
    """The NumPy type of a column's single values; what NumPy has no type for is a record ("V")."""
    return np.dtype(_DTYPES.get(str(kind), "V"))


def expanded_bytes(array: Any) -> int:
    """Bytes of the values of an array, where a value that a dictionary holds once counts as often as it is used."""
    pa = require("pyarrow", extra="files")
    if not pa.types.is_dictionary(array.type):
        return int(array.nbytes)
    words = array.dictionary
    if element_dtype(words.type).kind != "U":
        return int(array.nbytes) + len(array) * int(words.nbytes // max(1, len(words)))
    lengths = np.asarray(require("pyarrow.compute", extra="files").binary_length(words).fill_null(0), dtype=np.int64)
    used = np.asarray(array.indices.drop_null(), dtype=np.int64)
    return int(lengths[used].sum())


def plain_values(array: Any) -> list[Any]:
    """The values as Python has them; those of a dictionary are looked up in it."""
    pa = require("pyarrow", extra="files")
    decoded = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    values: list[Any] = decoded.to_pylist()
    return values


def vectors(address: Address, column: str, array: Any, *, dim: int, first_row: int) -> AnyArray:
    """One chunk of a vector column as (rows, dim); an error names the first row that does not fit."""
    pa = require("pyarrow", extra="files")
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    if array.null_count:
        row = first_row + int(np.argmax(np.asarray(array.is_null())))
        raise address.problem(f"has no vector in row {row} of column {column!r} (rows count from 0); fill or drop it.")
    if not pa.types.is_fixed_size_list(array.type):
        check_lengths(address, column, np.asarray(array.value_lengths()), dim=dim, first_row=first_row)
    values = array.flatten()
    if values.null_count:
        row = first_row + int(np.argmax(np.asarray(values.is_null()))) // dim
        raise address.problem(
            f"has a missing number in row {row} of column {column!r} (rows count from 0); fill or drop it."
        )
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(array), dim)


def check_lengths(address: Address, column: str, lengths: AnyArray, *, dim: int, first_row: int) -> None:
    """An error that names the first vector whose length is not ``dim``."""
    wrong = np.flatnonzero(lengths != dim)
    if wrong.size:
        raise address.problem(
            f"has vectors of different lengths in column {column!r}: row {first_row + int(wrong[0])} has "
            f"{int(lengths[wrong[0]])} numbers, row 0 has {dim} (rows count from 0); make all equally long."
        )


_POINTER = 8  # bytes that a list takes for each value, besides the value
ID_NAMES = ("id", "ids", "_id", "key")


@dataclass(frozen=True)
class StoredTable:
    """What a format tells of its table.

    ``lengths`` are the rows of each chunk; ``read(column, chunk)`` gives that piece as Arrow arrays;
    ``head(column)`` gives at least the first row; ``suspects(column, dim)`` are the chunks to look at before
    the first use.
    """

    schema: Any
    lengths: tuple[int, ...]
    read: Callable[[str, int], list[Any]]
    head: Callable[[str], Any]
    suspects: Callable[[str, int], Iterable[int]]


def table_contents(address: Address, stored: StoredTable) -> Contents:
    """The columns by name; the only text column is probably the ids."""
    parts = {field.name: _part(address, stored, field) for field in stored.schema}
    text = [column for column, part in parts.items() if part.dtype.kind == "U"]
    return Contents(parts, ID_NAMES, text[0] if len(text) == 1 else None)


def _part(address: Address, stored: StoredTable, field: Any) -> Part:
    kind, rows = storage_type(field.type), sum(stored.lengths)
    if not is_vectors(kind):
        return Part((rows,), element_dtype(kind), partial(_column, address, stored, field.name))
    dtype, dim = element_dtype(kind.value_type), getattr(kind, "list_size", None)
    if dim is None:
        dim = _first_length(stored.head(field.name)) if rows else 0
    return Part((rows, dim), dtype, partial(_vectors, address, stored, field.name, dim, dtype))


def _first_length(array: Any) -> int:
    array.validate(full=True)
    return len(array[0].as_py() or ())


def _pieces(stored: StoredTable, column: str, chunk: int) -> list[Any]:
    arrays = stored.read(column, chunk)
    for array in arrays:
        array.validate(full=True)  # the offsets of a damaged file would be followed anywhere
    return arrays


def _column(address: Address, stored: StoredTable, column: str) -> AnyArray:
    values: list[Any] = []
    size = _POINTER * sum(stored.lengths)
    check_loaded_whole(address, column, size)
    for chunk in range(len(stored.lengths)):
        for array in _pieces(stored, column, chunk):
            size += expanded_bytes(array)
            check_loaded_whole(address, column, size)
            values += plain_values(array)
    return np.array(values, dtype=object)


def _vectors(address: Address, stored: StoredTable, column: str, dim: int, dtype: np.dtype[Any]) -> ChunkedRows:
    def load(chunk: int, first_row: int) -> AnyArray:
        pieces = []
        for array in _pieces(stored, column, chunk):
            pieces.append(vectors(address, column, array, dim=dim, first_row=first_row))
            first_row += len(array)
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    starts = np.concatenate(([0], np.cumsum(stored.lengths, dtype=np.int64)))
    for chunk in stored.suspects(column, dim):
        load(chunk, int(starts[chunk]))
    return ChunkedRows(stored.lengths, dim, dtype, load)
