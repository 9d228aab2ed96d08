"""A lock file that one process at a time has: of those that want it together, one gets it and the others are told.

The file is removed by whoever has the lock, so that none stays behind. Somebody who opened it just before that locks a
file that has no name any more; so whoever has got a lock looks whether it is that of the file which is there now, and
begins again if it is not. On Windows a file that somebody has open cannot be removed, so that this cannot happen.
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


@contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Nobody else is inside with this lock file meanwhile; an InputError with the text ``busy`` if somebody is."""
    handle = _taken(path, busy)
    try:
        yield
    finally:
        if msvcrt is None:
            path.unlink(missing_ok=True)  # while we have the lock
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
            if _is_there(handle, path):
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
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
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


def _is_there(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
