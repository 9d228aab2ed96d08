"""Writing a file or a folder so that it is either complete or not there."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unhub.foundation.errors import InputError
from unhub.foundation.temporary import sweep_once, temporary_file, temporary_folder

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


def sync_file(file: Path) -> None:
    """Hands what is in a file to the disk."""
    _to_disk(file, os.O_RDWR)


def sync_folder(folder: Path) -> None:
    """Hands the names of a folder's files to the disk, as ``sync_file`` does with what is in them."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _to_disk(folder, os.O_RDONLY)


def _to_disk(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
NEW_FILE, NEW_FOLDER = 0o666, 0o777
"""before the umask"""

_ACL = "system.posix_acl_access"


def take_permissions(path: Path, target: Path) -> None:
    """Gives a private file the mode, the owner, the group and the access list of the target that it will replace.

    Only the administrator may give a file away: for anybody else it is their own afterwards. Where the group or the
    list cannot be kept, the group may do no more than everybody: the bits would mean other people.
    """
    before = target.stat()
    mode = stat.S_IMODE(before.st_mode) & 0o777
    with suppress(OSError, AttributeError):
        os.chown(path, before.st_uid, -1)
    same = _group_kept(path, before.st_gid) and _list_kept(path, target)
    os.chmod(path, mode if same else (mode & 0o707) | (mode & 0o070 & ((mode & 0o007) << 3)))


def _group_kept(path: Path, group: int) -> bool:
    if path.stat().st_gid == group:
        return True
    try:
        os.chown(path, -1, group)
    except (OSError, AttributeError):
        return False
    return True


def _list_kept(path: Path, target: Path) -> bool:
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
def replace_file(path: str | os.PathLike[str], *, follow_links: bool = True) -> Iterator[Path]:
    """A temporary path in the same folder, of the same extension; it becomes ``path`` if the block succeeds.

    The contents reach the disk before the name changes. If the block fails or is interrupted the temporary file is
    removed and whatever was at ``path`` before is untouched; what a killed run has left in the folder goes too. A file
    that is replaced keeps its mode, owner, group and access list as far as we may set them, and its replacement is
    private until it is complete; a new one gets what the umask allows. A symbolic link stays, and the file that it
    points to is replaced. Another hard link keeps the old contents, since a new file takes the name.

    follow_links: False for a file that the user has not named, such as a note beside one of theirs: whoever made the
    folder may have put a link there, and it is refused.

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
    sweep_once(target.parent)
    try:
        with temporary_file(target, PRIVATE_FILE if target.exists() else NEW_FILE) as temporary:
            yield temporary
            sync_file(temporary)
            if target.exists():
                take_permissions(temporary, target)
            os.replace(temporary, target)
            sync_folder(target.parent)
    except OSError as error:
        if error.errno in DISK_ERRORS:
            raise InputError(f"cannot write {target}: {DISK_ERRORS[error.errno]}.") from error
        raise


@contextmanager
def complete_folder(place: Path) -> Iterator[Path]:
    """A temporary folder beside the place, which it becomes if the block succeeds; otherwise nothing is left of it.

    The place may be an empty folder, whose permissions stay.
    """
    sweep_once(place.parent)
    with temporary_folder(place, PRIVATE_FOLDER if place.exists() else NEW_FOLDER) as temporary:
        yield temporary
        for path in temporary.iterdir():
            sync_file(path)
        sync_folder(temporary)
        if place.is_dir():
            take_permissions(temporary, place)
            place.rmdir()  # empty when it was looked at; this refuses if it no longer is
        temporary.rename(place)
        sync_folder(place.parent)
