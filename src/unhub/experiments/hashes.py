"""What the results of a dataset depend on: its settings, and the SHA-256 of its files and arrays."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unhub.dataset import Dataset
from unhub.foundation.regular_files import open_regular
from unhub.io.address import SEPARATOR

CHUNK = 1 << 22


def contents(data: Dataset) -> dict[str, Any]:
    """All that a result depends on but the protocol: files and arrays, which parts of files, and the settings."""
    parts = {key: source.partition(SEPARATOR)[2] for key, source in data.files().items()}
    about = {"task": data.task_type, "modality": data.modality, "settings": dict(data.settings)}
    return about | {"files": hashes(data), "parts": parts}


def hashes(data: Dataset) -> dict[str, str]:
    """The SHA-256 of every file and array of a dataset, by its key."""
    digests = {}
    for key, source in data.parts().items():
        path = Path(os.fspath(source).partition(SEPARATOR)[0]) if isinstance(source, str | os.PathLike) else None
        if path is None:
            digests[key] = hashlib.sha256(_bytes_of(source)).hexdigest()
        elif path.exists():
            digests[key] = hash_of(path)
    return digests


def hash_of(path: Path) -> str:
    """The SHA-256 of a file; of a folder, such as a zarr array, that of its files and their names, in order."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    states = tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    return _digest(path, states)


@lru_cache(maxsize=64)
def _digest(path: Path, states: tuple[tuple[str, int, int], ...]) -> str:
    """Read once for all tables, as long as the size and time of each file stay the same."""
    digest = hashlib.sha256()
    for file in (Path(name) for name, *_ in states):
        if file != path:
            digest.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        with open_regular(file) as read:
            while chunk := read.read(CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def _bytes_of(source: Any) -> bytes:
    """An array as bytes; a list of sets, ids or labels as its text."""
    try:
        array = np.asarray(source)
    except ValueError:  # rows of different lengths
        return repr(source).encode()
    return repr(source).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes()
