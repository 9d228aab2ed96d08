"""Arrow IPC files and streams (``.arrow``, ``.feather``, ``.ipc``): memory-mapped, one batch at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unhub.foundation.optional import require
from unhub.io.address import Address
from unhub.io.arrow_columns import is_vectors, storage_type
from unhub.io.arrow_table import StoredTable, table_contents
from unhub.io.contents import Contents

_FILE_MAGIC = b"ARROW1"
_FIRST_FEATHER_MAGIC = b"FEA1"
_END_OF_STREAM = b"\x00\x00\x00\x00"

Batches = Callable[[str, int], Any]


def read_arrow(address: Address) -> Contents:
    """The columns of the file; vectors are lists of equal length."""
    with open(address.path, "rb") as file:
        magic = file.read(len(_FILE_MAGIC))
        file.seek(-min(len(_END_OF_STREAM), address.size), 2)
        tail = file.read()
    if magic == _FILE_MAGIC:
        return _contents(address, *_file(address))
    if magic.startswith(_FIRST_FEATHER_MAGIC):
        raise address.problem("is of the first feather version; write it again with pyarrow.feather.write_feather.")
    if tail != _END_OF_STREAM:
        raise ValueError("neither an Arrow file nor a stream with an end")
    reader = _ipc().open_stream(_map(address))
    return _contents(address, *_in_memory(reader.schema, list(reader)))


def _contents(address: Address, schema: Any, lengths: tuple[int, ...], batch: Batches) -> Contents:
    def read(column: str, chunk: int) -> list[Any]:
        return [batch(column, chunk).column(column)]

    def head(column: str) -> Any:
        return next(array for chunk in range(len(lengths)) if len(array := read(column, chunk)[0]))

    stored = StoredTable(schema, lengths, read, head, lambda column, dim: range(len(lengths)))
    return table_contents(address, stored)


def _in_memory(schema: Any, batches: list[Any]) -> tuple[Any, tuple[int, ...], Batches]:
    """The batches as they are; those of an uncompressed stream are views into the mapped file."""
    return schema, tuple(batch.num_rows for batch in batches), lambda column, chunk: batches[chunk]


def _file(address: Address) -> tuple[Any, tuple[int, ...], Batches]:
    """Batches that are fetched when they are asked for, one column only."""
    ipc, source = _ipc(), _map(address)
    schema = ipc.open_file(source).schema
    readers: dict[str, Any] = {}

    def batch(column: str, chunk: int) -> Any:
        if column not in readers:
            options = ipc.IpcReadOptions(included_fields=[schema.get_field_index(column)])
            readers[column] = ipc.open_file(source, options=options)
        return readers[column].get_batch(chunk)

    if not len(schema):
        return schema, (), batch
    cheapest = min(schema, key=lambda field: is_vectors(storage_type(field.type))).name
    count = ipc.open_file(source).num_record_batches
    return schema, tuple(batch(cheapest, chunk).num_rows for chunk in range(count)), batch


def _ipc() -> Any:
    return require("pyarrow.ipc", extra="files")


def _map(address: Address) -> Any:
    return require("pyarrow", extra="files").memory_map(str(address.path))
