"""Correction files with valid checksums that say what their author likes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

Metadata = dict[str, Any]


def forge(
    source: Path,
    target: Path,
    change: Callable[[Metadata], object] = lambda metadata: None,
    tensors: Mapping[str, Any] | None = None,
) -> Path:
    """A copy of a correction file with other metadata and tensors (None leaves one out), sealed as unhub seals."""
    whole = source.read_bytes()
    header = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])
    metadata = json.loads(header["__metadata__"]["unhub"])
    parts = {**load_file(source), **(tensors or {})}
    parts = {name: np.ascontiguousarray(part) for name, part in parts.items() if part is not None}
    metadata["checksums"] = {name: hashlib.sha256(part.tobytes()).hexdigest() for name, part in parts.items()}
    change(metadata)
    text = json.dumps(metadata)
    seal = hashlib.sha256(text.encode()).hexdigest()
    save_file(parts, target, metadata={"unhub": text, "unhub_sha256": seal})
    return target
