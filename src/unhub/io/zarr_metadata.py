"""The metadata of a zarr array, checked before zarr reads them: only codecs that cannot run code are allowed.

numcodecs looks a codec up by the name in the file, and one of them, ``pickle``, runs code in the file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

V2, V3, GROUP = ".zarray", "zarr.json", ".zgroup"

_LONGEST = 4 << 20  # bytes of metadata; a description of an array takes a thousand
_COMPRESSORS = {"blosc", "zlib", "gzip", "zstd", "lz4", "bz2", "lzma"}
_NUMBERS = {"shuffle", "delta", "fixedscaleoffset", "quantize", "astype", "bitround"}  # arithmetic on plain numbers
_CHECKSUMS = {"crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3"}
_SHARDS = "sharding_indexed"
_LAYOUT = {"bytes", "endian", "transpose", _SHARDS}  # of version 3 only
_TEXT = "vlen-utf8"
KNOWN = _COMPRESSORS | _NUMBERS | _CHECKSUMS | _LAYOUT | {_TEXT}

_PLAIN = re.compile(r"[<>|]?[biufcUSMm]\d{1,9}(\[[a-zA-Z0-9]{1,8}\])?")
_NAMED = re.compile(r"bool|(int|uint)(8|16|32|64)|float(16|32|64)|complex(64|128)")
_FILTER_TYPES = ("dtype", "astype", "encode_dtype", "decode_dtype")  # settings of a codec that name a type
_FILTER_KINDS, _FILTER_BYTES = "biufc", 16  # the types may be numbers only: text can be as wide as it likes
_SIZED_TEXT = {"fixed_length_utf32": "U", "null_terminated_bytes": "S"}


@dataclass(frozen=True)
class Shards:
    """How files of several chunks are laid out: the chunks' shape, and the index of offsets and lengths."""

    chunks: tuple[int, ...]
    at_end: bool
    checked: bool
    """whether four bytes of a checksum follow the index"""


@dataclass(frozen=True)
class ArrayMetadata:
    """One array as its metadata describe it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]
    codecs: tuple[str, ...]
    shards: Shards | None = None

    def __post_init__(self) -> None:
        count, shards = len(self.chunks), self.shards
        if len(self.shape) != count or 0 in self.chunks:
            raise ValueError("the shape of its chunks does not fit its own")
        if shards and (len(shards.chunks) != count or 0 in shards.chunks or self.codecs.count(_SHARDS) > 1):
            raise ValueError("the shape of its shards does not fit its own")

    @property
    def bytes(self) -> int:
        """The whole array in memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def chunk_bytes(self) -> int:
        """One chunk in memory, decoded; chunks at the edge are stored whole."""
        return math.prod(self.chunks) * self.dtype.itemsize

    @property
    def compressors(self) -> tuple[str, ...]:
        """The codecs that compress."""
        return tuple(codec for codec in self.codecs if codec in _COMPRESSORS)


def read_json(file: Path) -> dict[str, Any]:
    """The metadata in a file; a ``ValueError`` if they are too long, no object, or have a key twice."""
    with open(file, "rb") as opened:
        text = opened.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise ValueError(f"{file.name} is longer than {_LONGEST:,} bytes")
    metadata = json.loads(text, object_pairs_hook=_unique)
    if not isinstance(metadata, dict):
        raise ValueError(f"{file.name} holds no object")
    return metadata


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("its metadata have a key twice")
    return dict(pairs)


def describe(file: Path) -> ArrayMetadata:
    """The array that a file of metadata describes; a ``ValueError`` if they are damaged."""
    metadata = read_json(file)
    return _version_2(metadata) if file.name == V2 else _version_3(metadata)


def refusal(array: ArrayMetadata) -> str | None:
    """Why an array is refused, to follow "has an array that ...", and what to do; None if it is read."""
    unknown = sorted(set(array.codecs) - KNOWN)
    if unknown:
        return (
            f"is written with the codec {unknown[0][:40]!r}, which is never read, since a codec can run code; write it "
            f"again with one of these: {', '.join(sorted(KNOWN))}."
        )
    if len(array.compressors) > 1:
        return "is compressed more than once, which only serves to fill memory; write it again with one codec."
    if array.dtype.kind == "V" or (array.dtype == object) != (_TEXT in array.codecs):
        return f"holds Python objects or records; write numbers, or text with the codec {_TEXT}."
    return None


def _version_2(metadata: dict[str, Any]) -> ArrayMetadata:
    if metadata.get("dimension_separator", ".") not in (".", "/"):
        raise ValueError("the names of its chunks are not plain")
    codecs = [*(metadata.get("filters") or ()), metadata.get("compressor")]
    dtype = metadata.get("dtype")
    if dtype != "|O":
        dtype = _dtype(dtype, _PLAIN)
    shape, chunks = _lengths(metadata.get("shape")), _lengths(metadata.get("chunks"))
    return ArrayMetadata(shape, np.dtype(dtype), chunks, tuple(_codec(each) for each in codecs if each is not None))


def _codec(codec: Any) -> str:
    if not isinstance(codec, dict) or not isinstance(codec.get("id"), str):
        raise ValueError("a codec has no name")
    for kind in (_dtype(codec[field], _PLAIN) for field in _FILTER_TYPES if codec.get(field) is not None):
        if kind.kind not in _FILTER_KINDS or kind.itemsize > _FILTER_BYTES:
            raise ValueError(f"the codec {codec['id'][:40]!r} does not turn numbers into numbers")
    return str(codec["id"])


def _version_3(metadata: dict[str, Any]) -> ArrayMetadata:
    grid, keys = metadata.get("chunk_grid"), metadata.get("chunk_key_encoding")
    if not isinstance(grid, dict) or grid.get("name") != "regular":
        raise ValueError("its chunks are not of one shape")
    separator = (keys.get("configuration") or {}).get("separator", "/") if isinstance(keys, dict) else None
    if separator not in (".", "/") or keys is None or keys.get("name") not in ("default", "v2"):
        raise ValueError("the names of its chunks are not plain")
    if metadata.get("storage_transformers"):
        raise ValueError("it has storage transformers")
    shape, chunks = _lengths(metadata.get("shape")), _lengths(grid.get("configuration", {}).get("chunk_shape"))
    codecs = metadata.get("codecs")
    names = tuple(_v3_codecs(codecs))
    return ArrayMetadata(shape, _v3_dtype(metadata.get("data_type")), chunks, names, _shards(codecs))


def _shards(codecs: Any) -> Shards | None:
    settings = [codec["configuration"] for codec in codecs if isinstance(codec, dict) and codec.get("name") == _SHARDS]
    if not settings:
        return None
    index = list(_v3_codecs(settings[0].get("index_codecs", [])))
    place = settings[0].get("index_location", "end")
    if place not in ("start", "end") or index not in (["bytes"], ["bytes", "crc32c"]):
        raise ValueError("the index of its shards is not plain")
    return Shards(_lengths(settings[0].get("chunk_shape")), place == "end", "crc32c" in index)


def _v3_codecs(codecs: Any, depth: int = 0) -> Iterator[str]:
    if not isinstance(codecs, list) or depth > 2:
        raise ValueError("its codecs are not a list")
    for codec in codecs:
        name = codec if isinstance(codec, str) else codec.get("name") if isinstance(codec, dict) else None
        if not isinstance(name, str):
            raise ValueError("a codec has no name")
        settings = (codec.get("configuration") or {}) if isinstance(codec, dict) else {}
        _codec({"id": name, **{key: settings.get(key) for key in _FILTER_TYPES}})
        yield name.removeprefix("numcodecs.")
        if name == _SHARDS:
            yield from _v3_codecs(settings.get("codecs"), depth + 1)
            yield from _v3_codecs(settings.get("index_codecs", []), depth + 1)


def _v3_dtype(kind: Any) -> np.dtype[Any]:
    if kind == "string":
        return np.dtype("O")
    if isinstance(kind, dict):
        letter, length = _SIZED_TEXT.get(str(kind.get("name"))), kind.get("configuration", {}).get("length_bytes")
        if letter is None or not isinstance(length, int) or not 0 < length < 1 << 20:
            return np.dtype("V")
        return np.dtype(f"{letter}{length // 4 if letter == 'U' else length}")
    return _dtype(kind, _NAMED)


def _dtype(kind: Any, known: re.Pattern[str]) -> np.dtype[Any]:
    if not isinstance(kind, str) or not (known.fullmatch(kind) or _NAMED.fullmatch(kind)):
        return np.dtype("V")
    return np.dtype(kind)


def _lengths(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(each) is not int or not 0 <= each < 1 << 62 for each in value):
        raise ValueError("its shape is not a list of whole numbers")
    return tuple(value)
