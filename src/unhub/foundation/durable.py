"""What has to outlast a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def contents_to_disk(file: Path) -> None:
    """Hands what is in a file to the disk."""
    _to_disk(file, os.O_RDWR)


def names_to_disk(folder: Path) -> None:
    """Hands the names of a folder's files to the disk, as ``contents_to_disk`` does with what is in them."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _to_disk(folder, os.O_RDONLY)


def _to_disk(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
