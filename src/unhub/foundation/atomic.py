"""Writing a file so that it is either complete or not there."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unhub.foundation.errors import InputError

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path in the same folder, of the same extension; it becomes ``path`` if the block succeeds.

    The contents reach the disk before the name changes. If the block fails or is interrupted the temporary
    file is removed and whatever was at ``path`` before is untouched. A file that is replaced keeps its mode;
    a new one gets what the umask allows.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with replace_file(path) as temporary:
    ...     _ = temporary.write_text("complete or not there")
    >>> path.read_text()
    'complete or not there'
    """
    target = Path(os.path.realpath(os.path.expanduser(os.fspath(path))))
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: there is no folder {target.parent}; make it first.")
    if target.is_dir():
        raise InputError(f"cannot write {target}: it is a folder; give the name of a file.")
    temporary = target.with_name(f".{target.stem}-{secrets.token_hex(4)}{target.suffix}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temporary
        _finish(temporary, target)
    except OSError as error:
        if error.errno in _REASONS:
            raise InputError(
                f"cannot write {target}: {_REASONS[error.errno]}; free or choose another place."
            ) from error
        raise
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _finish(temporary: Path, target: Path) -> None:
    _to_disk(temporary, os.O_RDWR)
    if target.exists():
        os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
    os.replace(temporary, target)
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _to_disk(target.parent, os.O_RDONLY)


def _to_disk(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
