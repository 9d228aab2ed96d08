"""Maps on disk, between runs: in a folder that stays small, whatever is opened."""

from __future__ import annotations

import contextlib
import os
import re
import zipfile
from pathlib import Path

import numpy as np

from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import UnhubError
from unhub.foundation.types import FloatArray

MOST_BYTES = 32 << 20
"""of all maps together: about a thousand of the largest, which is 28 kB"""
NAME = re.compile(r"(umap|tsne)-\d+-[0-9a-f]{24}\.npz")
"""files that are maps; nothing else in the folder is touched"""


def cache_folder() -> Path:
    """Where maps are kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unhub" / "maps"


def read(path: Path, count: int) -> FloatArray | None:
    """The places of so many points, or None where there is no such file or it is damaged; it counts as used now."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            places: FloatArray = archive["places"]
    except (OSError, EOFError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return places if places.shape == (count, 2) and bool(np.isfinite(places).all()) else None


def write(path: Path, places: FloatArray, most: int = MOST_BYTES) -> None:
    """Keeps the places, and removes the maps used least recently where all of them take too many bytes.

    A cache that cannot be written is no reason to fail.
    """
    with contextlib.suppress(OSError, UnhubError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as draft, open(draft, "wb") as file:
            np.savez(file, places=places)
        _trim(path.parent, most, newest=path)


def _trim(folder: Path, most: int, newest: Path) -> None:
    found = []
    for each in folder.iterdir():
        if NAME.fullmatch(each.name) and each != newest:
            with contextlib.suppress(FileNotFoundError):  # another server trims as well
                said = each.lstat()
                found.append((said.st_mtime_ns, said.st_size, each))
    held = newest.lstat().st_size + sum(size for _, size, _ in found)
    for _, size, each in sorted(found):
        if held <= most:
            return
        each.unlink(missing_ok=True)
        held -= size
