"""Locks on open files, which the system releases when a process ends, however it ends.

A process may get the lock of a file that was removed or replaced meanwhile, so it then checks that the file still has
its name.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from unhub.foundation.errors import InputError

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

NO_LOCKS = "this system has no file locks; make sure that no two commands write the same files at once."

_PAUSE = 0.02
"""seconds between two attempts to take a lock that another process holds"""

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def files_and_folders() -> bool:
    """Whether this system locks folders too, and lets others remove what is locked: flock does, Windows does not."""
    return fcntl is not None


def lock(file: int, *, wait: bool = False) -> bool:
    """Takes the lock of an open file; False on a system without locks.

    BlockingIOError or PermissionError if another process holds it (with ``wait`` it waits), another OSError where the
    file system has no locks.
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
def locked(path: Path, busy: str, *, patience: float = 0.0) -> Iterator[tuple[str, ...]]:
    """A block that only one process is in; an InputError with the text ``busy`` if another one is.

    patience: seconds to wait for the other one before that.

    Gives the notes for the user: one if this system has no locks. Whoever holds the lock removes the file. Windows does
    not remove a file that somebody has open, so there nobody can lock a file that has lost its name.
    """
    handle, notes = _take(path, busy, time.monotonic() + patience)
    try:
        yield notes
    finally:
        if msvcrt is None:
            try:
                path.unlink(missing_ok=True)  # while we have the lock
            finally:
                os.close(handle)
        else:
            os.close(handle)  # which releases the lock
            with suppress(OSError):  # another process has it open by now
                path.unlink()


def _take(path: Path, busy: str, until: float) -> tuple[int, tuple[str, ...]]:
    """The open file, once it is locked and still has the name; and the notes."""
    while True:
        try:
            handle = os.open(path, _FLAGS, 0o600)
        except OSError as error:
            if path.is_symlink():
                raise InputError(f"{path} is a link and not a lock of unhub; remove it.") from error
            raise
        try:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size:
                raise InputError(f"{path} is not a lock of unhub, which would be an empty file; move it elsewhere.")
            notes = () if lock(handle) else (NO_LOCKS,)
            if has_the_name(handle, path):
                return handle, notes
        except BaseException as error:
            os.close(handle)
            if isinstance(error, BlockingIOError | PermissionError):
                if time.monotonic() < until:
                    time.sleep(_PAUSE)
                    continue
                raise InputError(busy) from None
            if isinstance(error, OSError):
                advice = "move its folder to a disk with locks"
                why = (error.strerror or str(error)).lower()
                raise InputError(f"{path} cannot be locked ({why}); {advice}.") from error
            raise
        os.close(handle)
