"""What the results of a dataset depend on: its settings, and the SHA-256 of its files and arrays."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unhub.dataset import Dataset
from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import open_regular
from unhub.foundation.types import AnyArray
from unhub.io.address import SEPARATOR
from unhub.stores import is_address

CHUNK = 1 << 22
MATRICES = {name: name for name in ("queries", "targets", "scores", "target_scores")} | {"cross": "cross_scores"}
"""keys of matrices -> parts of a dataset"""


def contents(data: Dataset) -> dict[str, Any]:
    """All that a result depends on but the protocol: files and arrays, which parts of files, and the settings."""
    options = {name: getattr(data.reader, name) for name in ("metric", "normalize")}
    options |= {name: getattr(data, name) for name in ("modality", "ignore_self", "group_targets")}
    parts = {key: source.partition(SEPARATOR)[2] for key, source in data.files().items()}
    return {"task": data.task_type, **options, "settings": dict(data.settings), "files": hashes(data), "parts": parts}


def hashes(data: Dataset) -> dict[str, str]:
    """The SHA-256 of every file and array of a dataset, by its key."""
    digests = {}
    for key, source in data.parts().items():
        if not isinstance(source, str | os.PathLike) or is_address(source):
            digest = hashlib.sha256()
            for block in _blocks(data, key, source):
                digest.update(f"{block.dtype.str} {block.shape}\0".encode())
                digest.update(np.ascontiguousarray(block).data)
            digests[key] = digest.hexdigest()
        else:
            path = Path(os.fspath(source)).expanduser()
            digests[key] = hash_of(path if path.exists() else Path(str(path).partition(SEPARATOR)[0]))
    return digests


def hash_of(path: Path) -> str:
    """The SHA-256 of a file; of a folder, such as a zarr array, that of its files and their names, in order."""
    if not path.exists():
        raise InputError(f"there is no file {path}.")
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


def _blocks(data: Dataset, key: str, source: Any) -> Iterator[AnyArray]:
    """An array of a dataset in blocks: rows of a matrix, relevance in compressed rows, ids and labels as text."""
    section, _, name = key.rpartition(".")
    part = MATRICES.get(name)
    if key == "test.relevant":
        relevance = data.relevance()
        assert relevance is not None
        yield from (relevance.indptr, relevance.targets, relevance.gains)
    elif part is not None:
        rows = data.rows(part, None if section == "test" else section.removeprefix("banks."))
        assert rows is not None
        height = max(1, CHUNK // max(1, 4 * rows.shape[1]))
        yield from (rows[start : start + height] for start in range(0, max(1, len(rows)), height))
    else:
        values = np.asarray(source)
        yield np.asarray([str(each) for each in source]) if values.dtype == object else values
