"""The chunk files of a zarr array: how many bytes they hold, and how many they could become.

A chunk of ten megabytes can unpack to ten gigabytes. A codec's best ratio bounds that for most chunks without a look;
the few that could become too large are looked at: by the length in their head, or by unpacking them piece by piece.
"""

from __future__ import annotations

import bz2
import lzma
import math
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unhub.core.blocks import default_memory
from unhub.core.plan import in_words
from unhub.io.address import Address
from unhub.io.limits import DEFLATE_RATIO
from unhub.io.zarr_metadata import GROUP, V2, V3, Described

RATIOS = {
    "blosc": 1 << 16,
    "lz4": 255,
    "zstd": 1 << 15,  # a block of four bytes stands for 128 kB
    "zlib": DEFLATE_RATIO,
    "gzip": DEFLATE_RATIO,
    "lzma": 1 << 13,
    "bz2": 1 << 20,
}
"""how many times its size a chunk of this codec can become, rounded up"""

_METADATA = (V2, V3, GROUP, ".zattrs")
_PIECE = 1 << 20  # bytes unpacked at once
_ROOM = 4096  # bytes that headers and checksums may add to a chunk
_BZ2_MARK = bytes.fromhex("314159265359")
_BZ2_BLOCK = 900_000 // 5 * 259  # bytes that a block becomes at most: five of its 900,000 can stand for 259
_STREAMS: dict[str, Callable[[], Any]] = {
    "zlib": lambda: zlib.decompressobj(zlib.MAX_WBITS | 32),
    "gzip": lambda: zlib.decompressobj(zlib.MAX_WBITS | 32),
    "bz2": bz2.BZ2Decompressor,
    "lzma": lzma.LZMADecompressor,
}


def stored_chunks(address: Address, folder: Path) -> dict[Path, int]:
    """The files of an array with their sizes; a link, or anything but a file, is refused."""
    found: dict[Path, int] = {}
    for here, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(here, name)
            facts = path.lstat()
            if stat.S_ISREG(facts.st_mode):
                found[path] = facts.st_size
            elif not stat.S_ISDIR(facts.st_mode):
                raise address.problem(
                    f"holds {path.relative_to(address.path)}, a link or no regular file; put the file itself there."
                )
    return found


def check_chunks(address: Address, key: str, array: Described, stored: dict[Path, int]) -> None:
    """An error if a chunk unpacks to more than the array says, and to more than memory takes."""
    inner = array.chunks if array.shards is None else array.shards.chunks
    expected = math.prod(inner) * array.dtype.itemsize
    allowed = 2 * expected + _ROOM
    for codec in array.compressors:
        for path, size in stored.items():
            if size * RATIOS[codec] <= default_memory() or path.name in _METADATA:
                continue
            with open(path, "rb") as file:
                for start, length in _chunks(array, file, size):
                    unpacked = _length(codec, file, start, length, allowed)
                    if unpacked > allowed:
                        raise address.problem(
                            f"holds {path.relative_to(address.path)}, which unpacks to {in_words(unpacked)} or more "
                            f"where a chunk takes {in_words(expected)}; it is damaged, write it again."
                        )


def _chunks(array: Described, file: BinaryIO, size: int) -> Iterator[tuple[int, int]]:
    """Where the chunks of a file begin and how long they are; a file that is a shard has an index of them."""
    if array.shards is None:
        yield 0, size
        return
    count = math.prod(-(-outer // inner) for outer, inner in zip(array.chunks, array.shards.chunks, strict=True))
    length = 16 * count
    if length > size:
        raise ValueError("the index of a shard is longer than the shard")
    file.seek(size - length - 4 * array.shards.checked if array.shards.at_end else 0)
    index = np.frombuffer(file.read(length), dtype="<u8").reshape(-1, 2)
    yield from ((int(start), int(long)) for start, long in index if start + long <= size)


def _length(codec: str, file: BinaryIO, start: int, length: int, allowed: int) -> int:
    """The bytes that a chunk becomes, if there could be too many of them."""
    if length * RATIOS[codec] <= default_memory():
        return 0
    file.seek(start)
    if codec == "bz2" and _bz2_blocks(file.read(length)) * _BZ2_BLOCK <= default_memory():
        return 0
    file.seek(start)
    return _unpacked(codec, file, length, allowed) if codec in _STREAMS else _head(codec, file)


def _bz2_blocks(packed: bytes) -> int:
    """The number of blocks in a bzip2 chunk, or a few more; a block begins with six known bytes, at any bit."""
    data = np.frombuffer(packed + b"\x00", np.uint8)
    shifted = (data[:-1] << bit | (data[1:].astype(np.uint16) >> (8 - bit)).astype(np.uint8) for bit in range(8))
    return sum(each.tobytes().count(_BZ2_MARK) for each in shifted)


def _unpacked(codec: str, file: BinaryIO, size: int, allowed: int) -> int:
    """The bytes that a chunk becomes, counted a piece at a time until they are too many."""
    stream, length, packed = _STREAMS[codec](), 0, b""
    while length <= allowed:
        if not packed and getattr(stream, "needs_input", True):
            packed = file.read(min(_PIECE, size))
            size -= len(packed)
            if not packed:
                return length
        length += len(stream.decompress(packed, _PIECE))
        packed = getattr(stream, "unconsumed_tail", b"")  # the others keep what they have not unpacked yet
        if stream.eof:  # another member may follow, and is unpacked as well
            packed, stream = stream.unused_data, _STREAMS[codec]()
    return length


def _head(codec: str, file: BinaryIO) -> int:
    """The length that the head of a chunk names; without one it could be any."""
    head = file.read(18)
    if codec == "blosc":
        return int.from_bytes(head[4:8], "little")
    if codec == "lz4":
        return int.from_bytes(head[:4], "little")
    return _zstd(head)


def _zstd(head: bytes) -> int:
    """The content size in the head of a Zstandard frame (RFC 8878, 3.1.1.1)."""
    if head[:4] != b"\x28\xb5\x2f\xfd" or len(head) < 6:
        return 0  # not Zstandard: nothing will be unpacked
    flags = head[4]
    single, width = flags >> 5 & 1, (0, 2, 4, 8)[flags >> 6]
    width = width or single
    start = 5 + (1 - single) + (0, 1, 2, 4)[flags & 3]
    if not width:
        return 1 << 63
    return int.from_bytes(head[start : start + width], "little") + (256 if width == 2 else 0)
