"""The safetensors format: the package checks the header, the tensors are read in blocks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

from unhub.foundation.regular_files import stamp_at
from unhub.foundation.types import AnyArray
from unhub.io.address import Address, Contents, Part
from unhub.io.file_array import BrainFloats, FileArray, OpenFile

_LENGTH_BYTES = 8  # the header begins with its own length, little-endian
_LONGEST_HEADER = 100_000_000  # the package's own limit
_BRAIN_FLOAT = "BF16"
_ALIGNMENT = 8  # the header is a multiple of so many bytes, so that the tensors after it can be mapped

KINDS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
"""what the format calls each type of number"""

_DTYPES = {kind: np.dtype(name).newbyteorder("<") for name, kind in KINDS.items()} | {_BRAIN_FLOAT: np.dtype("<u2")}


def read_safetensors(address: Address) -> Contents:
    """The tensors of the file by name, read in blocks; bfloat16 comes back as float32."""
    opened = OpenFile(address)
    start, header = _header(opened)
    with safe_open(address.path, framework="numpy") as checked:  # the package takes paths only
        keys = sorted(checked.keys())
    if stamp_at(address.path) != opened.stamp:
        raise address.changed()
    return Contents({key: _part(opened, start, header[key]) for key in keys})


def read_correction(address: Address) -> Contents:
    """The banks of a correction, such as ``shop.unhub::query_bank``; its ids are of the gallery, which is elsewhere."""
    whole = read_safetensors(address)
    return Contents({key: part for key, part in whole.parts.items() if key != "ids"})


def _header(opened: OpenFile) -> tuple[int, dict[str, Any]]:
    actual = opened.stamp.size
    with opened.from_start() as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        start = _LENGTH_BYTES + length
        if actual < start:
            raise opened.address.truncated(expected=start, actual=actual)
        if length > _LONGEST_HEADER:
            raise ValueError(f"its header is longer than {_LONGEST_HEADER:,} bytes")
        header: dict[str, Any] = json.loads(file.read(length))
    ends = [tensor["data_offsets"][1] for key, tensor in header.items() if key != "__metadata__"]
    expected = start + max(ends, default=0)
    if actual < expected:
        raise opened.address.truncated(expected=expected, actual=actual)
    return start, header


def _part(opened: OpenFile, start: int, tensor: dict[str, Any]) -> Part:
    shape, kind = tuple(tensor["shape"]), tensor["dtype"]
    if kind not in _DTYPES:
        return Part(shape, np.dtype("V"), partial(np.empty, shape, "V"))
    dtype, offset = _DTYPES[kind], start + tensor["data_offsets"][0]
    is_brain = kind == _BRAIN_FLOAT
    dtype_out = BrainFloats.dtype if is_brain else dtype

    def load() -> Any:
        if not math.prod(shape):
            return np.empty(shape, dtype_out)
        array = FileArray(opened, offset, shape, dtype)
        return BrainFloats(array) if is_brain else array

    return Part(shape, dtype_out, load)


def write_safetensors(path: Path, tensors: Mapping[str, AnyArray], metadata: Mapping[str, str]) -> None:
    """Writes the tensors, those of wide numbers first and then by name, with the metadata in the order of its keys."""
    ordered = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, object] = {"__metadata__": {key: metadata[key] for key in sorted(metadata)}}
    end = 0
    for name in ordered:
        tensor = tensors[name]
        start, end = end, end + tensor.nbytes
        header[name] = {"dtype": KINDS[tensor.dtype.name], "shape": tensor.shape, "data_offsets": (start, end)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in ordered:
            little = np.ascontiguousarray(tensors[name], tensors[name].dtype.newbyteorder("<"))
            file.write(little.reshape(-1).view(np.uint8).data)
