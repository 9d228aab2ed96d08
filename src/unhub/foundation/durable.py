"""What has to outlast a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def names_to_disk(folder: Path) -> None:
    """Hands the names of a folder's files to the disk, as ``fsync`` of a file does with what is in it."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
