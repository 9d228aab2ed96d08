"""Opening files that somebody named: only regular ones, and never waiting for a pipe or a device."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from unhub.foundation.errors import InputError

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
        named = f"{name}: {Path(path)}" if name else f"{Path(path)}"
        raise InputError(f"{named} has more than {longest:,} bytes, which no file of its kind has; remove it.")
    return whole


def _refuse(mode: int, path: str | os.PathLike[str], name: str | None) -> None:
    reason = why_not_regular(mode)
    if reason is not None:
        raise InputError(f"{name}: {Path(path)} {reason}" if name else f"{Path(path)} {reason}")
