"""Writing a file or a folder so that it is either complete or not there.

Each is written under a temporary name that carries our mark and the machine, and its writer holds a lock (flock) on it.
The system releases the lock when a process ends, however it ends: a temporary that nobody holds was left behind by a
killed run, and the next run removes it.
"""

from __future__ import annotations

import errno
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
from unhub.foundation.errors import InputError

DISK_ERRORS = {
    errno.ENOSPC: "the disk is full; free some space or choose another place",
    errno.EDQUOT: "the disk quota is used up; free some space or choose another place",
    errno.EFBIG: "the file is larger than this process may write; choose another place",
    errno.EIO: "the disk reports an error; choose another place",
    errno.EROFS: "the disk is read-only; choose another place",
    errno.EACCES: "permission denied; change its mode or its owner",
    errno.EPERM: "permission denied; change its mode or its owner",
}
"""the end of a sentence, by the number of the system's error"""

OURS = re.compile(r"\..*\.unhub-tmp-(?P<machine>[0-9a-f]{8})-[0-9a-f]{12}(\.\w*)?", re.DOTALL)
"""the name of a temporary: a dot, the start of the target's name, our mark, the machine, random digits, the ending"""

LONGEST_STEM = 32  # letters of the target's name in the temporary's; a name has room for 255 bytes
FORGOTTEN = 24 * 3600.0
"""seconds without a change after which a temporary of another machine counts as left behind; some network file systems
do not share locks between machines"""

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
NEW_FILE, NEW_FOLDER = 0o666, 0o777  # before the umask
_ACL = "system.posix_acl_access"
_swept: set[str] = set()  # folders that this process has swept


@contextmanager
def replace_file(path: str | os.PathLike[str], *, follow_links: bool = True) -> Iterator[Path]:
    """A temporary path in the same folder, with the same extension; it becomes ``path`` if the block succeeds.

    The contents reach the disk before the name changes. If the block fails or is interrupted, the temporary file is
    removed and ``path`` is untouched; what a killed run left in the folder is removed too. A replaced file keeps its
    mode, owner, group and access list as far as we may set them, and its replacement is private until it is complete; a
    new one gets what the umask allows. A symbolic link stays, and the file that it points to is replaced. Another hard
    link keeps the old contents.

    follow_links: False for a file that the user has not named, such as a record next to theirs. Whoever made the folder
    may have put a link there, and it is refused.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with replace_file(path) as temporary:
    ...     _ = temporary.write_text("complete or not there")
    >>> path.read_text()
    'complete or not there'
    """
    named = Path(os.path.expanduser(os.fspath(path)))
    if not follow_links and named.is_symlink():
        raise InputError(f"cannot write {named}: it is a link to {os.readlink(named)}; remove it.")
    target = Path(os.path.realpath(named))
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: there is no folder {target.parent}; make it first.")
    if target.is_dir():
        raise InputError(f"cannot write {target}: it is a folder; give the name of a file.")
    if target.exists() and not target.is_file():
        raise InputError(f"cannot write {target}: it is a device or a pipe; give the name of a file.")
    _sweep_once(target.parent)
    try:
        with _held(target, PRIVATE_FILE if target.exists() else NEW_FILE) as temporary:
            yield temporary
            sync_file(temporary)
            if target.exists():
                _take_permissions(temporary, target)
            os.replace(temporary, target)
            sync_folder(target.parent)
    except OSError as error:
        if error.errno in DISK_ERRORS:
            raise InputError(f"cannot write {target}: {DISK_ERRORS[error.errno]}.") from error
        raise


@contextmanager
def complete_folder(target: Path) -> Iterator[Path]:
    """A temporary folder next to the target, which it becomes if the block succeeds; otherwise it is removed.

    The target may be an empty folder, whose permissions stay.
    """
    _sweep_once(target.parent)
    with _held(target, PRIVATE_FOLDER if target.exists() else NEW_FOLDER, folder=True) as temporary:
        yield temporary
        for path in temporary.iterdir():
            sync_file(path)
        sync_folder(temporary)
        if target.is_dir():
            _take_permissions(temporary, target)
            target.rmdir()  # fails if it is no longer empty
        temporary.rename(target)
        sync_folder(target.parent)


def sync_file(file: Path) -> None:
    """Hands the contents of a file to the disk."""
    _to_disk(file, os.O_RDWR)


def sync_folder(folder: Path) -> None:
    """Hands the names of a folder's files to the disk."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _to_disk(folder, os.O_RDONLY)


def _to_disk(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_permissions(path: Path, target: Path) -> None:
    """Gives a private file the mode, owner, group and access list of the target that it will replace.

    Only the administrator may give a file away; anybody else owns it afterwards. Where the group or the list cannot be
    set, the group gets no more than everybody: the bits would mean other people.
    """
    before = target.stat()
    mode = stat.S_IMODE(before.st_mode) & 0o777
    for owner, group in ((before.st_uid, -1), (-1, before.st_gid)):
        with suppress(OSError, AttributeError):
            os.chown(path, owner, group)
    same = path.stat().st_gid == before.st_gid and _set_access_list(path, target)
    os.chmod(path, mode if same else (mode & 0o707) | (mode & 0o070 & ((mode & 0o007) << 3)))


def _set_access_list(path: Path, target: Path) -> bool:
    """Whether the access list is the same now; most files have none, but a folder may give one to new files."""
    if not hasattr(os, "getxattr"):
        return True
    try:
        wanted = os.getxattr(target, _ACL)
    except OSError:
        with suppress(OSError):
            os.removexattr(path, _ACL)
        return True
    try:
        os.setxattr(path, _ACL, wanted)
    except OSError:
        return False
    return True


@contextmanager
def _held(target: Path, mode: int, *, folder: bool = False) -> Iterator[Path]:
    """A new empty file or folder next to the target, locked; removed when the block ends unless it was renamed."""
    stem, ending = (target.name, "") if folder else (target.stem, target.suffix)
    lock: int | None = None
    while lock is None:
        path = target.parent / f".{stem[:LONGEST_STEM]}.unhub-tmp-{_machine()}-{secrets.token_hex(6)}{ending}"
        if folder:
            path.mkdir(mode)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        if not file_lock.files_and_folders():
            break
        lock = _own(path)
    try:
        yield path
    finally:
        try:
            if folder:
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        finally:
            if lock is not None:
                os.close(lock)


def _own(path: Path) -> int | None:
    """The lock of a new temporary; None if a sweep removed it before it was locked."""
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


def _sweep_once(folder: Path) -> None:
    """Sweeps a folder the first time that this process writes to it: listing a large one takes longer than a write."""
    if str(folder) not in _swept:
        _swept.add(str(folder))
        sweep(folder)


def sweep(folder: Path) -> None:
    """Removes what killed runs of unhub left in a folder; what a living process holds stays, and all that is not ours.

    A temporary of this machine is removed if nobody holds its lock; one of another machine (or from before the last
    start of this one) only if it also was not touched for a day. On Windows the owner cannot be told, so nothing is
    removed.
    """
    if not file_lock.files_and_folders():
        return
    with suppress(OSError), os.scandir(folder) as entries:
        temporaries = [(Path(entry.path), match) for entry in entries if (match := OURS.fullmatch(entry.name))]
        for path, match in temporaries:
            with suppress(OSError):
                _remove_if_left(path, match["machine"])


def _remove_if_left(path: Path, machine: str) -> None:
    before = path.lstat()
    if before.st_uid != os.geteuid() or not (stat.S_ISREG(before.st_mode) or stat.S_ISDIR(before.st_mode)):
        return
    if machine != _machine() and time.time() - before.st_mtime < FORGOTTEN:
        return
    lock = _open(path)
    try:
        if not (file_lock.lock(lock) and file_lock.has_the_name(lock, path)):  # an OSError: somebody holds it
            return
        if stat.S_ISDIR(before.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    finally:
        os.close(lock)


@cache
def _machine() -> str:
    """A short name for this machine since it was started; containers of one machine share it, as they do its locks."""
    try:
        known = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        known = os.uname().nodename if hasattr(os, "uname") else ""
    return hashlib.sha256(known.encode()).hexdigest()[:8]
