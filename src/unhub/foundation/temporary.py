"""Temporary files and folders that tell whose they are: the next run removes those of a run that was killed.

The name of each carries our mark and the machine, and whoever writes it holds a lock (flock) on it. The system gives
the lock back when a process ends, however it ends, so that a temporary nobody holds was left behind.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from unhub.foundation import file_lock

OURS = re.compile(r"\..*\.unhub-tmp-(?P<machine>[0-9a-f]{8})-[0-9a-f]{12}(\.\w*)?", re.DOTALL)
"""the name of a temporary: a dot, a part of the name to be, our mark, the machine, chance, the ending"""

LONGEST_STEM = 32
"""letters of the name to be that the temporary's shows; a name has room for 255 bytes"""

FORGOTTEN = 24 * 3600.0
"""seconds after which a temporary of another machine was left behind, if nobody has touched it; some network file
systems do not tell one machine of another's locks"""

_swept: set[str] = set()
"""folders that this process has swept"""


@contextmanager
def temporary_file(target: Path, mode: int) -> Iterator[Path]:
    """A new empty file beside the target, of the same ending; removed when the block ends, unless it was renamed."""
    with _held(target.parent, target.stem, target.suffix, mode) as path:
        try:
            yield path
        finally:
            with suppress(FileNotFoundError):
                path.unlink()


@contextmanager
def temporary_folder(target: Path, mode: int) -> Iterator[Path]:
    """A new empty folder beside the target; removed with all that is in it when the block ends, unless renamed."""
    with _held(target.parent, target.name, "", mode, folder=True) as path:
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def sweep_once(folder: Path) -> None:
    """Sweeps a folder the first time that this process writes to it: listing a large one takes longer than a write."""
    if str(folder) not in _swept:
        _swept.add(str(folder))
        sweep(folder)


def sweep(folder: Path) -> None:
    """Removes what killed runs of ours left in a folder; what a living process holds stays, and all that is not ours.

    A temporary of this machine is removed if nobody holds its lock, one of another machine (or from before the last
    start of this one) if it was not touched for a day either. On Windows nothing can be told of the owner, so that
    nothing is ever removed.
    """
    if not file_lock.files_and_folders():
        return
    with suppress(OSError), os.scandir(folder) as entries:
        left = [Path(entry.path) for entry in entries if OURS.fullmatch(entry.name)]
        for path in left:
            with suppress(OSError):
                _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    before = path.lstat()
    if before.st_uid != os.geteuid() or not (stat.S_ISREG(before.st_mode) or stat.S_ISDIR(before.st_mode)):
        return
    named = OURS.fullmatch(path.name)
    assert named is not None
    if named["machine"] != _machine() and time.time() - before.st_mtime < FORGOTTEN:
        return
    lock = _open(path)
    try:
        if not (_locked(lock) and file_lock.has_the_name(lock, path)):
            return
        if stat.S_ISDIR(before.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    finally:
        os.close(lock)


@contextmanager
def _held(parent: Path, stem: str, ending: str, mode: int, *, folder: bool = False) -> Iterator[Path]:
    """Makes a file or a folder of a new name, and holds its lock."""
    lock: int | None = None
    while lock is None:
        path = parent / f".{stem[:LONGEST_STEM]}.unhub-tmp-{_machine()}-{secrets.token_hex(6)}{ending}"
        if folder:
            path.mkdir(mode)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        if not file_lock.files_and_folders():
            yield path
            return
        lock = _own(path)
    try:
        yield path
    finally:
        os.close(lock)


def _own(path: Path) -> int | None:
    """The lock of what was just made; None if a sweep took it away before it was locked."""
    try:
        lock = _open(path)
    except FileNotFoundError:
        return None
    with suppress(OSError):  # a file system without locks has no sweep either
        file_lock.lock(lock, wait=True)  # for a sweep that is looking at it
    if file_lock.has_the_name(lock, path):
        return lock
    os.close(lock)
    return None


def _open(path: Path) -> int:
    """The file, to be locked; some network file systems lock only what is open for writing."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, os.O_RDWR | flags)
    except OSError:
        return os.open(path, os.O_RDONLY | flags)


def _locked(file: int) -> bool:
    """Whether nobody held the lock, and we do now; not where the file system has none."""
    try:
        return file_lock.lock(file)
    except OSError:
        return False


@cache
def _machine() -> str:
    """A short name for this machine since it was started; containers of one machine share it, as they do its locks."""
    try:
        known = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        known = os.uname().nodename if hasattr(os, "uname") else ""
    return hashlib.sha256(known.encode()).hexdigest()[:8]
