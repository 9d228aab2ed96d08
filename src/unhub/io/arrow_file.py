"""Arrow IPC files and streams (``.arrow``, ``.feather``, ``.ipc``): read one batch at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from unhub.foundation.optional import require
from unhub.io.address import Address
from unhub.io.arrow_messages import FILE_MAGIC, batch_sizes
from unhub.io.arrow_table import StoredTable, table_contents
from unhub.io.contents import Contents
from unhub.io.limits import check_loaded_whole, check_promise

_FIRST_FEATHER_MAGIC = b"FEA1"
_END_OF_STREAM = b"\x00\x00\x00\x00"


def read_arrow(address: Address) -> Contents:
    """The columns of the file; vectors are lists of equal length.

    Each batch is read when it is asked for. The file is not mapped: one that is cut short would end the process.
    """
    with address.open() as file:
        magic = file.read(len(FILE_MAGIC))
        file.seek(-min(len(_END_OF_STREAM), address.size), 2)
        tail = file.read()
        if not magic.startswith(_FIRST_FEATHER_MAGIC):
            _check_sizes(address, list(batch_sizes(file, address.size)), whole=magic != FILE_MAGIC)
    if magic.startswith(_FIRST_FEATHER_MAGIC):
        raise address.problem("is of the first feather version; write it again with pyarrow.feather.write_feather.")
    pa, ipc = require("pyarrow", extra="files"), require("pyarrow.ipc", extra="files")
    source = pa.OSFile(str(address.path))
    if magic == FILE_MAGIC:
        reader = ipc.open_file(source)
        return _contents(address, reader.schema, reader.num_record_batches, reader.get_batch)
    if tail != _END_OF_STREAM:
        raise ValueError("neither an Arrow file nor a stream with an end")
    stream = ipc.open_stream(source)
    batches = list(stream)
    return _contents(address, stream.schema, len(batches), batches.__getitem__)


def _check_sizes(address: Address, sizes: list[int], *, whole: bool) -> None:
    """An error if a batch does not fit in memory, or all of them in a stream, which is read whole."""
    if whole:
        check_promise(address, sum(sizes))
    check_loaded_whole(address, "", max(sizes, default=0), what="a single batch of it")


def _contents(address: Address, schema: Any, count: int, unlocked: Callable[[int], Any]) -> Contents:
    lock = threading.Lock()  # one reader, which seeks, for all threads; what it gives is a view that they can share

    def batch(chunk: int) -> Any:
        with lock:
            return unlocked(chunk)

    lengths = tuple(batch(chunk).num_rows for chunk in range(count))

    def read(column: str, chunk: int) -> list[Any]:
        return [batch(chunk).column(column)]

    def head(column: str) -> Any:
        return next(array for chunk in range(count) if len(array := read(column, chunk)[0]))

    stored = StoredTable(schema, lengths, read, head, lambda column, dim: range(count))
    return table_contents(address, stored)
