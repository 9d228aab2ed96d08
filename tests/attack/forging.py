"""A correction file rewritten and sealed again: every checksum in it is right."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attack.hostile import as_json


@dataclass(frozen=True)
class Opened:
    """A correction file in its parts, free to be changed."""

    metadata: dict[str, Any]
    tensors: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Opened:
        """The parts of a file."""
        from safetensors.numpy import load

        whole = path.read_bytes()
        header = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])
        return cls(json.loads(header["__metadata__"]["unhub"]), load(whole))

    def sealed(self) -> bytes:
        """A whole file with valid checksums, whatever is in it."""
        from safetensors.numpy import save

        sums = {
            name: hashlib.sha256(np.ascontiguousarray(each).tobytes()).hexdigest()
            for name, each in self.tensors.items()
        }
        metadata = self.metadata
        if isinstance(metadata, dict) and isinstance(metadata.get("checksums"), dict):
            metadata = {**metadata, "checksums": sums}
        text = as_json(metadata)
        seal = hashlib.sha256(text.encode()).hexdigest()
        return bytes(save(self.tensors, metadata={"unhub": text, "unhub_sha256": seal}))


def odd_tensors(name: str, tensor: Any) -> dict[str, Any]:
    """Tensors that could stand in the place of one: other types, shapes and values."""
    flat = np.asarray(tensor)
    with np.errstate(all="ignore"):
        half = flat.astype(np.float16)
    made = {
        "empty": flat[:0],
        "scalar": flat.reshape(-1)[:1].reshape(()),
        "another axis": flat[None],
        "one row less": flat[:-1],
        "twice": np.concatenate([flat, flat]),
        "float64": flat.astype(np.float64),
        "int64": flat.astype(np.int64),
        "bool": flat.astype(bool),
        "float16": half,
        "uint8": flat.astype(np.uint8),
        "zeros": np.zeros_like(flat),
        "largest": np.full_like(flat, np.finfo(flat.dtype).max if flat.dtype.kind == "f" else np.iinfo(flat.dtype).max),
    }
    if flat.dtype.kind == "f":
        made |= {"nan": np.full_like(flat, np.nan), "infinite": np.full_like(flat, np.inf), "negative": -abs(flat)}
    if name == "ids":
        for told, text in ODD_IDS.items():
            made[told] = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    return made


ODD_IDS = {
    "ids that are no JSON": "[",
    "ids in a dict": "{}",
    "ids that are numbers": json.dumps(list(range(40))),
    "ids with controls": json.dumps([f"\x1b[31m{row}\x07" for row in range(40)]),
    "ids all alike": json.dumps(["same"] * 40),
    "ids of a megabyte": json.dumps(["x" * 25_000 + str(row) for row in range(40)]),
    "ids in ids": "[" * 100_000 + "]" * 100_000,
    "too many ids": json.dumps([str(row) for row in range(100_000)]),
    "ids that are paths": json.dumps([f"../../../../canary/{row}" for row in range(40)]),
}
