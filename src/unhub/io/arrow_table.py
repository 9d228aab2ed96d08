"""An Arrow table on disk as parts: columns of vectors are decoded chunk by chunk, other columns whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from unhub.foundation.types import AnyArray
from unhub.io.address import Address
from unhub.io.arrow_columns import element_dtype, expanded_bytes, is_vectors, plain_values, storage_type, vectors
from unhub.io.chunked import ChunkedRows
from unhub.io.contents import Contents, Part
from unhub.io.limits import check_loaded_whole

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
