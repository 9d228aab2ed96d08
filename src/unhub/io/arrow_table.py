"""Arrow tables on disk, and parquet: columns of vectors are decoded chunk by chunk, other columns whole."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from unhub.foundation.optional import require
from unhub.foundation.types import AnyArray
from unhub.io.address import Address, Contents, Part
from unhub.io.limits import check_loaded_whole

ID_NAMES = ("id", "ids", "_id", "key")

_POINTER = 8  # bytes that a list takes for each value, besides the value
_DTYPES = {
    **{name: name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")},
    "halffloat": "f2", "float": "f4", "double": "f8", "string": "U", "large_string": "U",
}  # fmt: skip


class ChunkedRows:
    """Rows behind ``load(chunk, first_row)``, which gives (rows of the chunk, dim); the last chunk is cached.

    Blocks are read in order, so one cached chunk means that each is decoded once in a pass. Threads may share this if
    they may call ``load`` at once: each goes on with the chunk it has when another one is cached.
    """

    def __init__(
        self, lengths: Sequence[int], dim: int, dtype: np.dtype[Any], load: Callable[[int, int], AnyArray]
    ) -> None:
        self._starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        self._load = load
        self._cached: tuple[int, AnyArray] | None = None
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
        cached = self._cached
        if cached is None or cached[0] != chunk:
            cached = self._cached = (chunk, self.load(chunk))
        return cached[1][start - offset : stop - offset]

    def load(self, chunk: int) -> AnyArray:
        """The rows of one chunk, decoded now."""
        return self._load(chunk, int(self._starts[chunk]))


@dataclass(frozen=True)
class StoredTable:
    """How a format reads its table.

    ``lengths`` are the rows of each chunk; ``read(column, chunk)`` gives that piece as Arrow arrays; ``head(column)``
    gives at least the first row; ``suspects(column, dim)`` are the chunks to decode before the first use.
    """

    schema: Any
    lengths: tuple[int, ...]
    read: Callable[[str, int], list[Any]]
    head: Callable[[str], Any]
    suspects: Callable[[str, int], Iterable[int]]

    def pieces(self, column: str, chunk: int) -> list[Any]:
        """The arrays of a chunk, checked: reading a damaged file would follow its offsets anywhere."""
        arrays = self.read(column, chunk)
        for array in arrays:
            array.validate(full=True)
        return arrays


def table_contents(address: Address, stored: StoredTable) -> Contents:
    """The columns by name; the only text column is probably the ids."""
    parts = {field.name: _part(address, stored, field) for field in stored.schema}
    text = [column for column, part in parts.items() if part.dtype.kind == "U"]
    return Contents(parts, ID_NAMES, text[0] if len(text) == 1 else None)


def _part(address: Address, stored: StoredTable, field: Any) -> Part:
    kind, rows = _storage_type(field.type), sum(stored.lengths)
    if not _is_vectors(kind):
        return Part((rows,), _element_dtype(kind), partial(_column, address, stored, field.name))
    dtype, dim = _element_dtype(kind.value_type), getattr(kind, "list_size", None)
    if dim is None and rows:
        head = stored.head(field.name)
        head.validate(full=True)
        dim = len(head[0].as_py() or ())
    return Part((rows, dim or 0), dtype, partial(_vector_rows, address, stored, field.name, dim or 0, dtype))


def _storage_type(kind: Any) -> Any:
    """The plain type of a column: what an extension type stores, the values behind a dictionary."""
    pa = require("pyarrow", extra="files")
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_vectors(kind: Any) -> bool:
    types = require("pyarrow", extra="files").types
    return bool(types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind))


def _element_dtype(kind: Any) -> np.dtype[Any]:
    """The NumPy type of a column's single values; a record ("V") if NumPy has no type for them."""
    return np.dtype(_DTYPES.get(str(kind), "V"))


def _column(address: Address, stored: StoredTable, column: str) -> AnyArray:
    """All values of a column, as Python objects."""
    pa = require("pyarrow", extra="files")
    values: list[Any] = []
    size = _POINTER * sum(stored.lengths)
    check_loaded_whole(address, column, size)
    for chunk in range(len(stored.lengths)):
        for array in stored.pieces(column, chunk):
            size += _expanded_bytes(array)
            check_loaded_whole(address, column, size)
            values += (array.dictionary_decode() if pa.types.is_dictionary(array.type) else array).to_pylist()
    return np.array(values, dtype=object)


def _expanded_bytes(array: Any) -> int:
    """Bytes of the values of an array, where a value that a dictionary holds once counts as often as it is used."""
    if not require("pyarrow", extra="files").types.is_dictionary(array.type):
        return int(array.nbytes)
    words = array.dictionary
    if _element_dtype(words.type).kind != "U":
        return int(array.nbytes) + len(array) * int(words.nbytes // max(1, len(words)))
    lengths = np.asarray(require("pyarrow.compute", extra="files").binary_length(words).fill_null(0), dtype=np.int64)
    used = np.asarray(array.indices.drop_null(), dtype=np.int64)
    return int(lengths[used].sum())


def _vector_rows(address: Address, stored: StoredTable, column: str, dim: int, dtype: np.dtype[Any]) -> ChunkedRows:
    def load(chunk: int, first_row: int) -> AnyArray:
        pieces = []
        for array in stored.pieces(column, chunk):
            pieces.append(_vectors(address, column, array, dim, first_row))
            first_row += len(array)
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    rows = ChunkedRows(stored.lengths, dim, dtype, load)
    for chunk in stored.suspects(column, dim):
        rows.load(chunk)
    return rows


def _vectors(address: Address, column: str, array: Any, dim: int, first_row: int) -> AnyArray:
    """One array of a vector column as (rows, dim); an error names the first row that does not fit."""
    pa = require("pyarrow", extra="files")
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    if array.null_count:
        row = first_row + int(np.argmax(np.asarray(array.is_null())))
        raise address.problem(f"has no vector in row {row} of column {column!r} (rows count from 0); fill or drop it.")
    if not pa.types.is_fixed_size_list(array.type):
        lengths = np.asarray(array.value_lengths())
        wrong = np.flatnonzero(lengths != dim)
        if wrong.size:
            raise address.problem(
                f"has vectors of different lengths in column {column!r}: row {first_row + int(wrong[0])} has "
                f"{int(lengths[wrong[0]])} numbers, row 0 has {dim} (rows count from 0); make all equally long."
            )
    values = array.flatten()
    if values.null_count:
        row = first_row + int(np.argmax(np.asarray(values.is_null()))) // dim
        raise address.problem(
            f"has a missing number in row {row} of column {column!r} (rows count from 0); fill or drop it."
        )
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(array), dim)


def read_parquet(address: Address) -> Contents:
    """The columns of a parquet file, read one row group at a time; vectors are lists of equal length."""
    files = _ParquetFiles(address)
    file = files.here()
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]

    def chunks_of(column: str, group: int) -> list[Any]:
        chunks = (groups[group].column(index) for index in range(groups[group].num_columns))
        return [each for each in chunks if each.path_in_schema.split(".")[0] == column]

    def check(column: str, group: int) -> None:
        """An error if the footer says that a row group becomes more than there is memory for."""
        kind = _storage_type(file.schema_arrow.field(column).type)
        width = max(1, _element_dtype(kind.value_type if _is_vectors(kind) else kind).itemsize)
        sizes = [max(each.num_values * width, each.total_uncompressed_size) for each in chunks_of(column, group)]
        check_loaded_whole(address, column, sum(sizes), what="a single row group of it")

    def read(column: str, group: int) -> list[Any]:
        check(column, group)
        return list(files.here().read_row_group(group, columns=[column]).column(column).chunks)

    def head(column: str) -> Any:
        check(column, next(group for group, stored in enumerate(groups) if stored.num_rows))
        return next(files.here().iter_batches(batch_size=1, columns=[column])).column(column)

    def suspects(column: str, dim: int) -> Iterator[int]:
        """The row groups whose number of values is not rows x dim, as the footer counts them."""
        for group, stored in enumerate(groups):
            if sum(each.num_values for each in chunks_of(column, group)) != stored.num_rows * dim:
                yield group

    lengths = tuple(group.num_rows for group in groups)
    return table_contents(address, StoredTable(file.schema_arrow, lengths, read, head, suspects))


class _ParquetFiles(threading.local):
    """One open file for each thread: two threads in the same one crash the interpreter."""

    opened: Any = None

    def __init__(self, address: Address) -> None:
        self._parquet = require("pyarrow.parquet", extra="files")
        self._path = address.path

    def here(self) -> Any:
        """This thread's file."""
        if self.opened is None:
            file = self._parquet.ParquetFile(self._path)
            text = [field.name for field in file.schema_arrow if _element_dtype(field.type).kind == "U"]
            if text:  # as dictionaries: a repeated text is stored once until the length of all is known
                file = self._parquet.ParquetFile(self._path, read_dictionary=text)
            self.opened = file
        return self.opened
