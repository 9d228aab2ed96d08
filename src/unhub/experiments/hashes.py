"""What the results of an experiment depend on: its settings, and the SHA-256 of its files."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from unhub.experiments.experiment import SEPARATOR, Experiment
from unhub.foundation.regular_files import open_regular

CHUNK = 1 << 22


def contents(experiment: Experiment) -> dict[str, Any]:
    """All that a result depends on but the protocol: the files, which parts of them, and the settings."""
    parts = {where: source.partition(SEPARATOR)[2] for where, source in experiment.files().items()}
    about = {"task": experiment.task, "modality": experiment.modality, "settings": dict(experiment.settings)}
    return about | {"files": hashes(experiment), "parts": parts}


def hashes(experiment: Experiment) -> dict[str, str]:
    """The SHA-256 of every file that the experiment names, by the place where it does."""
    known: dict[str, str] = {}
    digests = {}
    for where, source in experiment.files().items():
        path = source.partition(SEPARATOR)[0]
        if not Path(path).exists():
            continue
        if path not in known:
            known[path] = hash_of(Path(path))
        digests[where] = known[path]
    return digests


def hash_of(path: Path) -> str:
    """The SHA-256 of a file; of a folder, such as a zarr array, that of its files and their names, in order."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    states = tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    return _digest(path, states)


@lru_cache(maxsize=64)
def _digest(path: Path, states: tuple[tuple[str, int, int], ...]) -> str:
    """Read once for all tables, as long as size and time of the files stay."""
    digest = hashlib.sha256()
    for file in (Path(name) for name, *_ in states):
        if file != path:
            digest.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        with open_regular(file) as read:
            while chunk := read.read(CHUNK):
                digest.update(chunk)
    return digest.hexdigest()
