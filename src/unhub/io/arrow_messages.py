"""What the batches of an Arrow file would become in memory, from its metadata: no batch is read, nothing is unpacked.

The metadata are flatbuffers (Message.fbs, File.fbs of the Arrow format). Places outside of them are a ``struct.error``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

FILE_MAGIC = b"ARROW1"
_CONTINUES = 0xFFFFFFFF
_DICTIONARY, _BATCH = 2, 3  # kinds of message
_BLOCK, _BUFFER = 24, 16  # bytes of the structs
_STORED_AS_IS = -1  # in place of the length of a compressed buffer
_LONGEST_METADATA = 100_000_000


@dataclass(frozen=True)
class _Table:
    data: bytes
    place: int

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
        found = self._field(number)
        if not found:
            return
        place = found + struct.unpack_from("<I", self.data, found)[0]
        for each in range(struct.unpack_from("<I", self.data, place)[0]):
            yield struct.unpack_from(kind, self.data, place + 4 + each * size)


def _root(data: bytes) -> _Table:
    return _Table(data, struct.unpack_from("<I", data)[0])


def batch_sizes(file: BinaryIO, size: int) -> Iterator[int]:
    """Bytes that each batch of a file, or of a stream, becomes; dictionaries are batches too."""
    file.seek(0)
    return _of_file(file, size) if file.read(len(FILE_MAGIC)) == FILE_MAGIC else _of_stream(file)


def _of_file(file: BinaryIO, size: int) -> Iterator[int]:
    tail = 4 + len(FILE_MAGIC)
    file.seek(max(0, size - tail))
    length = struct.unpack("<i", file.read(4))[0]
    if not 0 < length <= min(size, _LONGEST_METADATA):
        raise ValueError(f"its footer is said to be {length:,} bytes long")
    file.seek(size - tail - length)
    footer = _root(file.read(length))
    for field in (2, 3):  # dictionaries, batches
        for start, _, _ in footer.structs(field, "<qi4xq", _BLOCK):
            file.seek(start)
            message = _message(file)
            yield 0 if message is None else _becomes(message, file)


def _of_stream(file: BinaryIO) -> Iterator[int]:
    file.seek(0)
    while (message := _message(file)) is not None:
        body = file.tell()
        yield _becomes(message, file)
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
    return _root(file.read(length))


def _becomes(message: _Table, file: BinaryIO) -> int:
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
