"""Writing a file or a folder so that it is either complete or not there."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unhub.foundation.errors import InputError
from unhub.foundation.permissions import NEW_FILE, NEW_FOLDER, PRIVATE_FILE, PRIVATE_FOLDER, take_permissions
from unhub.foundation.temporary import sweep, temporary_file, temporary_folder

REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file is larger than this process may write",
    errno.EIO: "the disk reports an error",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}
"""why a disk does not take a file"""


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
    sweep(target.parent)
    try:
        with temporary_file(target, PRIVATE_FILE if target.exists() else NEW_FILE) as temporary:
            yield temporary
            _to_disk(temporary, os.O_RDWR)
            if target.exists():
                take_permissions(temporary, target)
            os.replace(temporary, target)
            if os.name == "posix":  # elsewhere a folder cannot be opened
                _to_disk(target.parent, os.O_RDONLY)
    except OSError as error:
        if error.errno in REASONS:
            raise InputError(f"cannot write {target}: {REASONS[error.errno]}; free or choose another place.") from error
        raise


@contextmanager
def complete_folder(place: Path) -> Iterator[Path]:
    """A temporary folder beside the place, which it becomes if the block succeeds; otherwise nothing is left of it.

    The place may be an empty folder, whose permissions stay.
    """
    sweep(place.parent)
    with temporary_folder(place, PRIVATE_FOLDER if place.exists() else NEW_FOLDER) as temporary:
        yield temporary
        for path in temporary.iterdir():
            _to_disk(path, os.O_RDWR)
        if place.is_dir():
            take_permissions(temporary, place)
            place.rmdir()  # empty when it was looked at; this refuses if it no longer is
        temporary.rename(place)
        if os.name == "posix":
            _to_disk(place.parent, os.O_RDONLY)


def _to_disk(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
