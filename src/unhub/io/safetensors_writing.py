"""Writing a safetensors file: the same contents are the same bytes, in every process.

The package itself keeps metadata in a table whose order changes from run to run, and tells of a full disk in an error
of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from unhub.foundation.types import AnyArray

ALIGNMENT = 8
"""bytes of which the header is a multiple, so that the tensors behind it can be mapped"""

KINDS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
"""what the format calls each type of number"""


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
    text += b" " * (-len(text) % ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in ordered:
            little = np.ascontiguousarray(tensors[name], tensors[name].dtype.newbyteorder("<"))
            file.write(little.reshape(-1).view(np.uint8).data)
