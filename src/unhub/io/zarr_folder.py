"""Zarr folders, of package version 2 or 3: every array is a part, read chunk by chunk when it is sliced.

The folder is walked here, and each array is opened by itself on demand, after its own metadata (``zarr_metadata``) and
its files were checked. Consolidated metadata of the whole folder, which could say something else, are never read.
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

from unhub.core.plan import in_words
from unhub.executors import default_memory
from unhub.foundation.optional import require
from unhub.io.address import WHOLE, Address, Contents, Part
from unhub.io.limits import DEFLATE_RATIO, check_loaded_whole, check_stored
from unhub.io.zarr_metadata import GROUP, V2, V3, ArrayMetadata, describe, read_json, refusal

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

_STREAMS: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("zlib", "gzip"), lambda: zlib.decompressobj(zlib.MAX_WBITS | 32)),
    "bz2": bz2.BZ2Decompressor,
    "lzma": lzma.LZMADecompressor,
}
_MARKERS = (V3, V2, GROUP)
_METADATA = (*_MARKERS, ".zattrs")
_MOST_ARRAYS, _DEEPEST = 10_000, 32
_PIECE = 1 << 20  # bytes unpacked at once
_ROOM = 4096  # bytes that headers and checksums may add to a chunk
_BZ2_MARK = bytes.fromhex("314159265359")
_BZ2_BLOCK = 900_000 // 5 * 259  # bytes that a block becomes at most: five of its 900,000 can stand for 259


def is_zarr(path: Path) -> bool:
    """Whether a folder is a zarr array or group."""
    return path.is_dir() and any((path / marker).is_file() for marker in _MARKERS)


def read_zarr(address: Address) -> Contents:
    """The array of the folder, or the arrays of its groups by their path inside it."""
    if not address.path.is_dir():
        raise address.problem("is a file, but zarr is a folder; give the folder (unpack it if it is zipped).")
    if not is_zarr(address.path):
        raise address.problem(f"is not a zarr folder: it has no {', '.join(_MARKERS)}; write or copy it again.")
    is_old = require("zarr", extra="files").__version__.startswith("2.")
    parts: dict[str, Part] = {}
    for key, file in _arrays(address.path, WHOLE, (V2,) if is_old else (V3, V2)):
        parts[key] = _part(address, key, file)
        if len(parts) > _MOST_ARRAYS:
            raise address.problem(f"holds more than {_MOST_ARRAYS:,} arrays; give a folder with fewer.")
    return Contents(parts)


def _arrays(folder: Path, key: str, known: tuple[str, ...], depth: int = 0) -> Iterator[tuple[str, Path]]:
    """The keys and metadata files of the arrays; links are not followed, so that nothing outside is read."""
    if depth > _DEEPEST:
        raise ValueError(f"its groups are nested deeper than {_DEEPEST}")
    for name in known:
        file = folder / name
        if file.is_file() and (name == V2 or read_json(file).get("node_type") == "array"):
            yield key, file
            return
    if not is_zarr(folder):
        return
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    for name in names:
        yield from _arrays(folder / name, f"{key}/{name}".lstrip("/"), known, depth + 1)


def _part(address: Address, key: str, file: Path) -> Part:
    """An array as a part; one that is refused says why only if it is chosen."""
    array = describe(file)
    reason = refusal(array)
    dtype = np.dtype("O") if reason is not None else np.dtype("U") if array.dtype == object else array.dtype

    def load() -> Any:
        if reason is not None:
            named = f" {key!r}" if key else ""
            raise address.problem(f"has an array{named} that {reason}")
        stored = _stored_files(address, file.parent)
        ratio = max((RATIOS[codec] for codec in array.compressors), default=1)
        check_stored(address, key, array.bytes, stored=sum(stored.values()), ratio=ratio)
        check_loaded_whole(address, key, array.chunk_bytes, what="a single chunk of it")
        if len(array.shape) < 2:  # columns of ids and labels are always read whole
            check_loaded_whole(address, key, array.bytes)
        _check_chunks(address, array, stored)
        zarr = require("zarr", extra="files")
        version = {} if zarr.__version__.startswith("2.") else {"zarr_format": 2 if file.name == V2 else 3}
        return zarr.open_array(str(file.parent), mode="r", **version)

    return Part(array.shape, dtype, load)


def _stored_files(address: Address, folder: Path) -> dict[Path, int]:
    """The files of an array with their sizes; a link, or anything but a file, is refused."""
    sizes: dict[Path, int] = {}
    for here, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(here, name)
            facts = path.lstat()
            if stat.S_ISREG(facts.st_mode):
                sizes[path] = facts.st_size
            elif not stat.S_ISDIR(facts.st_mode):
                raise address.problem(
                    f"holds {path.relative_to(address.path)}, a link or no regular file; put the file itself there."
                )
    return sizes


def _check_chunks(address: Address, array: ArrayMetadata, stored: dict[Path, int]) -> None:
    """An error if a chunk unpacks to more than the array declares and to more than memory holds."""
    inner = array.chunks if array.shards is None else array.shards.chunks
    expected = math.prod(inner) * array.dtype.itemsize
    allowed = 2 * expected + _ROOM
    for codec in array.compressors:
        for path, size in stored.items():
            if size * RATIOS[codec] <= default_memory() or path.name in _METADATA:
                continue
            with open(path, "rb") as file:
                for start, length in _chunks(array, file, size):
                    unpacked = _unpacked_size(codec, file, start, length, allowed)
                    if unpacked > allowed:
                        raise address.problem(
                            f"holds {path.relative_to(address.path)}, which unpacks to {in_words(unpacked)} or more "
                            f"where a chunk takes {in_words(expected)}; it is damaged, write it again."
                        )


def _chunks(array: ArrayMetadata, file: BinaryIO, size: int) -> Iterator[tuple[int, int]]:
    """The start and length of each chunk of a file; a shard has an index of them."""
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


def _unpacked_size(codec: str, file: BinaryIO, start: int, length: int, allowed: int) -> int:
    """The bytes that a chunk becomes; 0 if there cannot be too many of them."""
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
        packed = getattr(stream, "unconsumed_tail", b"")  # the others hold what they have not unpacked yet
        if stream.eof:  # another member may follow, and is unpacked as well
            packed, stream = stream.unused_data, _STREAMS[codec]()
    return length


def _head(codec: str, file: BinaryIO) -> int:
    """The length in the head of a chunk; a Zstandard frame (RFC 8878, 3.1.1.1) without one could become any."""
    head = file.read(18)
    if codec == "blosc":
        return int.from_bytes(head[4:8], "little")
    if codec == "lz4":
        return int.from_bytes(head[:4], "little")
    if head[:4] != b"\x28\xb5\x2f\xfd" or len(head) < 6:
        return 0  # not Zstandard: nothing will be unpacked
    flags = head[4]
    single, width = flags >> 5 & 1, (0, 2, 4, 8)[flags >> 6]
    width = width or single
    start = 5 + (1 - single) + (0, 1, 2, 4)[flags & 3]
    if not width:
        return 1 << 63
    return int.from_bytes(head[start : start + width], "little") + (256 if width == 2 else 0)
