"""Arrow IPC files and streams (``.arrow``, ``.feather``, ``.ipc``): read one batch at a time."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from unhub.foundation.optional import require
from unhub.io.address import Address, Contents
from unhub.io.arrow_table import StoredTable, table_contents
from unhub.io.limits import check_loaded_whole, check_size

FILE_MAGIC = b"ARROW1"
_FIRST_FEATHER_MAGIC = b"FEA1"
_END_OF_STREAM = b"\x00\x00\x00\x00"
_CONTINUES = 0xFFFFFFFF
_DICTIONARY, _BATCH = 2, 3  # kinds of message
_BLOCK, _BUFFER = 24, 16  # bytes of the structs
_STORED_AS_IS = -1  # in place of the length of a compressed buffer
_LONGEST_METADATA = 100_000_000


def read_arrow(address: Address) -> Contents:
    """The columns of the file; vectors are lists of equal length.

    Each batch is read on demand. The file is not mapped: one that is cut short would end the process.
    """
    with address.open() as file:
        magic = file.read(len(FILE_MAGIC))
        if magic.startswith(_FIRST_FEATHER_MAGIC):
            raise address.problem("is of the first feather version; write it again with pyarrow.feather.write_feather.")
        is_file = magic == FILE_MAGIC
        sizes = list(_file_batches(file, address.size) if is_file else _stream_batches(file))
        file.seek(-min(len(_END_OF_STREAM), address.size), 2)
        tail = file.read()
    if not is_file:  # a stream is read whole
        check_size(address, sum(sizes))
    check_loaded_whole(address, "", max(sizes, default=0), what="a single batch of it")
    pa, ipc = require("pyarrow", extra="files"), require("pyarrow.ipc", extra="files")
    source = pa.OSFile(str(address.path))
    if is_file:
        reader = ipc.open_file(source)
        return _contents(address, reader.schema, reader.num_record_batches, reader.get_batch)
    if tail != _END_OF_STREAM:
        raise ValueError("neither an Arrow file nor a stream with an end")
    stream = ipc.open_stream(source)
    batches = list(stream)
    return _contents(address, stream.schema, len(batches), batches.__getitem__)


def _contents(address: Address, schema: Any, count: int, unlocked: Callable[[int], Any]) -> Contents:
    lock = threading.Lock()  # all threads share one reader, which seeks; its batches are views that they can share

    def batch(chunk: int) -> Any:
        with lock:
            return unlocked(chunk)

    lengths = tuple(batch(chunk).num_rows for chunk in range(count))

    def read(column: str, chunk: int) -> list[Any]:
        return [batch(chunk).column(column)]

    def head(column: str) -> Any:
        return next(array for chunk in range(count) if len(array := read(column, chunk)[0]))

    return table_contents(address, StoredTable(schema, lengths, read, head, lambda column, dim: range(count)))


@dataclass(frozen=True)
class _Table:
    """A table of a flatbuffer."""

    data: bytes
    place: int

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data)[0])

    def _field(self, number: int) -> int:
        """Where a field of the table is; 0 if it was left out."""
        table = self.place - struct.unpack_from("<i", self.data, self.place)[0]
        if table < 0 or 4 + 2 * number >= struct.unpack_from("<H", self.data, table)[0]:
            return 0
        offset: int = struct.unpack_from("<H", self.data, table + 4 + 2 * number)[0]
        return self.place + offset if offset else 0

    def number(self, number: int, kind: str) -> int:
        place = self._field(number)
        return int(struct.unpack_from(kind, self.data, place)[0]) if place else 0

    def table(self, number: int) -> _Table | None:
        place = self._field(number)
        return _Table(self.data, place + struct.unpack_from("<I", self.data, place)[0]) if place else None

    def structs(self, number: int, kind: str, size: int) -> Iterator[tuple[int, ...]]:
        field = self._field(number)
        if not field:
            return
        place = field + struct.unpack_from("<I", self.data, field)[0]
        for each in range(struct.unpack_from("<I", self.data, place)[0]):
            yield struct.unpack_from(kind, self.data, place + 4 + each * size)


def _file_batches(file: BinaryIO, size: int) -> Iterator[int]:
    """Bytes that each batch of a file becomes; dictionaries are batches too."""
    tail = 4 + len(FILE_MAGIC)
    file.seek(max(0, size - tail))
    length = struct.unpack("<i", file.read(4))[0]
    if not 0 < length <= min(size, _LONGEST_METADATA):
        raise ValueError(f"its footer is said to be {length:,} bytes long")
    file.seek(size - tail - length)
    footer = _Table.root(file.read(length))
    for field in (2, 3):  # dictionaries, batches
        for start, _, _ in footer.structs(field, "<qi4xq", _BLOCK):
            file.seek(start)
            message = _message(file)
            yield 0 if message is None else _unpacked_size(message, file)


def _stream_batches(file: BinaryIO) -> Iterator[int]:
    """Bytes that each batch of a stream becomes."""
    file.seek(0)
    while (message := _message(file)) is not None:
        body = file.tell()
        yield _unpacked_size(message, file)
        file.seek(body + message.number(3, "<q"))


def _message(file: BinaryIO) -> _Table | None:
    """The metadata of the message that begins here; None at the end. The file is left where its body begins."""
    head = file.read(4)
    length = int.from_bytes(head, "little")
    if length == _CONTINUES:
        length = int.from_bytes(file.read(4), "little")
    if len(head) < 4 or not length:
        return None
    if length > _LONGEST_METADATA:
        raise ValueError(f"the metadata of a batch are said to be {length:,} bytes long")
    return _Table.root(file.read(length))


def _unpacked_size(message: _Table, file: BinaryIO) -> int:
    """Bytes of all buffers of a batch, unpacked."""
    body, kind, batch = file.tell(), message.number(1, "<B"), message.table(2)
    if kind == _DICTIONARY and batch is not None:
        batch = batch.table(1)
    if kind not in (_DICTIONARY, _BATCH) or batch is None:
        return 0
    packed, total = batch.table(3) is not None, 0
    for start, length in batch.structs(2, "<qq", _BUFFER):
        unpacked = _STORED_AS_IS
        if packed and length > 0:
            file.seek(body + start)
            unpacked = struct.unpack("<q", file.read(8))[0]
        total += max(0, length if unpacked == _STORED_AS_IS else unpacked)
    return total
