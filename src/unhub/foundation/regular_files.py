"""Reading files that somebody else may have written: only regular ones, never waiting for a pipe or a device."""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from unhub.foundation.errors import InputError
from unhub.foundation.wording import argument

FOLDER = "is a folder, not a file; give a file inside it."
NOT_REGULAR = "is not a regular file; give a file on disk."

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def why_not_regular(mode: int) -> str | None:
    """What is wrong with a path whose mode this is, as the end of a sentence; None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    return FOLDER if stat.S_ISDIR(mode) else NOT_REGULAR


def open_regular(path: str | os.PathLike[str], *, name: str | None = None) -> BinaryIO:
    """The file, open for reading; a pipe, socket, device or folder is an ``InputError`` at once.

    The path is looked at before it is opened, since opening a device can do something, and what was opened is looked at
    again, since the path may have changed in between. ``name`` is the argument it came in by.

    >>> open_regular("/dev/null", name="targets")
    Traceback (most recent call last):
    unhub.foundation.errors.InputError: targets: /dev/null is not a regular file; give a file on disk.
    """
    _refuse(os.stat(path).st_mode, path, name)
    opened = os.open(path, _FLAGS)
    try:
        _refuse(os.fstat(opened).st_mode, path, name)
        return os.fdopen(opened, "rb")
    except BaseException:
        os.close(opened)
        raise


def read_regular(path: str | os.PathLike[str], *, name: str | None = None, longest: int | None = None) -> bytes:
    """The bytes of a regular file; an ``InputError`` if there are more than ``longest``, of which no more are read."""
    with open_regular(path, name=name) as file:
        if longest is None:
            return file.read()
        whole = file.read(longest + 1)
    if len(whole) > longest:
        raise InputError(f"{_subject(path, name)} has more than {longest:,} bytes, too many for its kind; remove it.")
    return whole


def _refuse(mode: int, path: str | os.PathLike[str], name: str | None) -> None:
    reason = why_not_regular(mode)
    if reason is not None:
        raise InputError(f"{_subject(path, name)} {reason}")


def _subject(path: str | os.PathLike[str], name: str | None) -> str:
    return f"{argument(name)}: {Path(path)}" if name else f"{Path(path)}"


class Stamp(NamedTuple):
    """Which file it is on this machine, its bytes, and the time of its last change.

    The inode's own time is left out: a hard link changes it.
    """

    device: int
    inode: int
    size: int
    changed: int

    @property
    def file(self) -> tuple[int, int]:
        """Which file it is, whatever is in it; another machine may number the same file differently."""
        return self.device, self.inode

    @property
    def version(self) -> tuple[int, int]:
        """What is in it, as far as size and time tell; this is the same on every machine."""
        return self.size, self.changed


def stamp_of(facts: os.stat_result) -> Stamp:
    """The stamp of a file that was asked for its facts."""
    return Stamp(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def stamp_at(path: str | os.PathLike[str]) -> Stamp:
    """The stamp of the file that is at a path now."""
    return stamp_of(os.stat(path))


def read_json(path: str | os.PathLike[str], *, longest: int) -> Any:
    """What is in a regular file of at most so many bytes; a ValueError says why it cannot be used.

    FileNotFoundError if there is none. A pipe or a device is not waited for, and no more than ``longest`` is read.
    """
    try:
        return json.loads(read_regular(path, longest=longest))
    except RecursionError:
        raise ValueError(f"{os.fspath(path)} is nested too deeply") from None


def json_safe(value: Any) -> Any:
    """The value with None for numbers that are not finite, lists for tuples, and texts for keys.

    >>> json_safe({1: (0.5, float("nan"))})
    {'1': [0.5, None]}
    """
    if isinstance(value, dict):
        return {str(key): json_safe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def is_network_path(path: str) -> bool:
    """Whether a path names its machine, which Windows would log in to.

    >>> [is_network_path(path) for path in (r"\\\\host\\share", "//host/share", "/data/a.npy", "a.npy")]
    [True, True, False, False]
    """
    return path.replace("\\", "/").startswith("//")
