"""Reading files of unknown origin: only regular ones, never waiting for a pipe or a device."""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from unhub.foundation.errors import InputError
from unhub.foundation.wording import argument

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def why_not_regular(mode: int) -> str | None:
    """What is wrong with a path of this mode, as the end of a sentence; None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return "is a folder, not a file; give a file inside it."
    return "is not a regular file; give a file on disk."


def open_regular(path: str | os.PathLike[str], *, name: str | None = None) -> BinaryIO:
    """The file, open for reading; a pipe, socket, device or folder is an ``InputError`` at once.

    The path is checked before it is opened, because opening a device can have an effect, and the open file is checked
    again, because the path may have changed in between. ``name`` is the argument that the path was given for.

    >>> open_regular("/dev/null", name="targets")
    Traceback (most recent call last):
    unhub.foundation.errors.InputError: targets: /dev/null is not a regular file; give a file on disk.
    """
    _check_regular(os.stat(path).st_mode, path, name)
    handle = os.open(path, _FLAGS)
    try:
        _check_regular(os.fstat(handle).st_mode, path, name)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _check_regular(mode: int, path: str | os.PathLike[str], name: str | None) -> None:
    reason = why_not_regular(mode)
    if reason is not None:
        raise InputError(f"{_subject(path, name)} {reason}")


def read_regular(path: str | os.PathLike[str], *, name: str | None = None, longest: int | None = None) -> bytes:
    """The bytes of a regular file; an ``InputError`` if there are more than ``longest``, of which no more are read."""
    with open_regular(path, name=name) as file:
        whole = file.read() if longest is None else file.read(longest + 1)
    if longest is not None and len(whole) > longest:
        raise InputError(f"{_subject(path, name)} has more than {longest:,} bytes, too many for its kind; remove it.")
    return whole


def _subject(path: str | os.PathLike[str], name: str | None) -> str:
    return f"{argument(name)}: {Path(path)}" if name else f"{Path(path)}"


def decode_text(data: bytes, subject: str) -> str:
    """The bytes as UTF-8 text, a byte order mark left out; errors begin with ``subject``."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{subject} is not UTF-8 text (byte {error.start:,}); save it as UTF-8.") from error


def text_lines(text: str, subject: str, *, content: str) -> list[str]:
    """The lines of a text, stripped; an empty one is an error unless only empty ones follow."""
    lines = [line.strip() for line in text.rstrip().split("\n")]
    if not all(lines):
        raise InputError(f"{subject} has nothing in line {lines.index('') + 1}; write one {content} in each line.")
    return lines


class Stamp(NamedTuple):
    """Which file it is on this machine, its size, and the time of its last change.

    The inode's own time is left out: a hard link changes it.
    """

    device: int
    inode: int
    size: int
    changed: int

    @property
    def file(self) -> tuple[int, int]:
        """Which file it is, whatever its contents; another machine may number the same file differently."""
        return self.device, self.inode

    @property
    def version(self) -> tuple[int, int]:
        """Size and time, which stand for the contents and are the same on every machine."""
        return self.size, self.changed


def stamp_of(facts: os.stat_result) -> Stamp:
    """The stamp in the result of ``os.stat``."""
    return Stamp(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def stamp_at(path: str | os.PathLike[str]) -> Stamp:
    """The stamp of the file that is at a path now."""
    return stamp_of(os.stat(path))


def read_json(path: str | os.PathLike[str], *, longest: int) -> Any:
    """The JSON value of a regular file of at most so many bytes; a ValueError says why it cannot be used.

    FileNotFoundError if there is none.
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
    return None if isinstance(value, float) and not math.isfinite(value) else value


def is_network_path(path: str) -> bool:
    """Whether a path names a machine, which Windows would log in to.

    >>> [is_network_path(path) for path in (r"\\\\host\\share", "//host/share", "/data/a.npy", "a.npy")]
    [True, True, False, False]
    """
    return path.replace("\\", "/").startswith("//")
