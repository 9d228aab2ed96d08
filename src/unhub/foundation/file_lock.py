"""Locks on open files, which the system gives back when a process ends, however it ends.

Whoever has got a lock may have it on a file that was removed or replaced meanwhile, and so looks whether the file is
still the one of that name.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:
    fcntl = None
try:
    import msvcrt
except ImportError:
    msvcrt = None


def files_and_folders() -> bool:
    """Whether this system locks folders too, and lets others remove what is locked: flock does, Windows does not."""
    return fcntl is not None


def lock(file: int, *, wait: bool = False) -> bool:
    """Takes the lock of an open file; False on a system that has none.

    BlockingIOError or PermissionError if somebody else has it (with ``wait`` it waits), another OSError where the file
    system has no locks.
    """
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif msvcrt is not None:
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        return False
    return True


def has_the_name(file: int, path: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False
