"""Locks on open files, which the system gives back when a process ends, however it ends.

Whoever has got a lock may have it on a file that was removed or replaced meanwhile, and so looks whether the file is
still the one of that name.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from unhub.foundation.errors import InputError, UnhubWarning

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

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


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


@contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Nobody else is inside with this lock file meanwhile; an InputError with the text ``busy`` if somebody is.

    The file is removed by whoever has the lock, so that none stays behind. On Windows a file that somebody has open
    cannot be removed, so that there nobody can lock a file that has lost its name.
    """
    handle = _taken(path, busy)
    try:
        yield
    finally:
        if msvcrt is None:
            try:
                path.unlink(missing_ok=True)  # while we have the lock
            finally:
                os.close(handle)
        else:
            os.close(handle)  # which gives the lock up
            with suppress(OSError):  # somebody else has it open by now
                path.unlink()


def _taken(path: Path, busy: str) -> int:
    """The open file, once it is locked and is the one that has the name."""
    while True:
        try:
            handle = os.open(path, _FLAGS, 0o600)
        except OSError as error:
            if path.is_symlink():
                raise InputError(f"{path} is a link and not a lock of unhub; remove it.") from error
            raise
        try:
            _lock(handle, path, busy)
            if has_the_name(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, path: Path, busy: str) -> None:
    told = os.fstat(handle)
    if not stat.S_ISREG(told.st_mode) or told.st_size:
        raise InputError(f"{path} is not a lock of unhub, which would be an empty file; move it elsewhere.")
    try:
        if not lock(handle):
            warnings.warn(
                "this system has no file locks; see yourself that no two commands write the same files at once.",
                UnhubWarning,
                stacklevel=2,
            )
    except (BlockingIOError, PermissionError):
        raise InputError(busy) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{path} cannot be locked ({why.lower()}); move its folder to a disk with locks.") from error
