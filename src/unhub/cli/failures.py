"""How a command ends: an exit code, one sentence instead of a traceback, and output that cannot be lost silently.

stdout and stderr may be closed, full, or read by a program that exits early. None of that stops the work: a file
named with -o is still written. What cannot be printed is dropped, and the command says so at its end, unless the
reader chose to leave.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO

from unhub.cli.console import as_flag
from unhub.foundation.atomic import DISK_ERRORS
from unhub.foundation.errors import UnhubError
from unhub.foundation.safe_text import printable

OK, BUG, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
WEAKER, REFUSED = 3, 4
"""of commands that judge a correction: look again, and do not serve it"""

_REASONS = {
    **DISK_ERRORS,
    errno.EISDIR: "it is a folder; name a file",
    errno.ENOTDIR: "part of the path is not a folder; check the path",
    errno.EEXIST: "a file of that name exists already; choose another",
    errno.ENOENT: "there is no such file; check the path",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


@dataclass(frozen=True)
class Failure:
    """How a command ended: the exit code, and a sentence for stderr if it failed."""

    code: int
    sentence: str | None = None


def failure(error: BaseException, place: str | None = None) -> Failure:
    """The exit code and sentence for an exception; place: the file that it concerns, if known."""
    if isinstance(error, KeyboardInterrupt):
        return Failure(INTERRUPTED, "interrupted")
    if isinstance(error, UnhubError):
        return Failure(BAD_INPUT, _ended(error.sentence(as_flag)))
    if isinstance(error, MemoryError):
        return Failure(BAD_INPUT, "out of memory; pass a smaller --memory or a smaller file.")
    if isinstance(error, BrokenPipeError | ConnectionResetError | ConnectionAbortedError):
        return Failure(BAD_INPUT, "the other end closed the connection; try again.")
    if isinstance(error, OSError):
        return Failure(BAD_INPUT, printable(_file_sentence(error, place)))
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return Failure(BAD_INPUT, "this machine allows no more threads; set OMP_NUM_THREADS=1 or raise the limit.")
    if isinstance(error, SystemExit):
        return Failure(error.code if isinstance(error.code, int) else OK if error.code is None else BUG)
    if hasattr(error, "format_message"):
        return Failure(BAD_INPUT, printable(_usage_sentence(error)))
    if hasattr(error, "exit_code"):
        return Failure(int(error.exit_code))
    return Failure(
        BUG,
        f"this is a bug ({type(error).__name__}: {_short(str(error))}); please report it with the output of "
        f"'unhub --debug ...'.",
    )


def _file_sentence(error: OSError, place: str | None) -> str:
    place = place or ("a file" if error.filename is None else os.fsdecode(error.filename))
    reason = _REASONS.get(error.errno or 0) or (error.strerror or _short(str(error))).lower()
    return f"cannot use {place}: {reason}."


def _usage_sentence(error: BaseException) -> str:
    """The message of typer's own errors, on one line; their class is private to typer."""
    message: str = error.format_message().strip()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    path = "unhub" if context is None else context.command_path
    link = " See" if message.endswith("?") else "; see"
    return f"{message[:1].lower()}{message[1:].rstrip('.')}{link} {path} --help."


def _ended(text: str) -> str:
    """The sentence with a full stop, unless it ends with something to copy."""
    return f"{text}." if text[-1:].isalnum() else text


def _short(text: str, most: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}..."


class LastingStream:
    """A text stream whose writes never fail; ``fault`` is the first error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.fault: OSError | None = None
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")  # escape what the encoding lacks

    def write(self, text: str) -> int:
        """Write the text, or drop it."""
        try:
            self._stream.write(text)
        except OSError as error:
            self._lose(error)
        return len(text)

    def flush(self) -> None:
        """Flush, or drop what is buffered."""
        try:
            self._stream.flush()
        except OSError as error:
            self._lose(error)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)  # no writing past us
        return getattr(self._stream, name)

    def _lose(self, error: OSError) -> None:
        """Send this and everything after it to /dev/null."""
        self.fault = self.fault or error
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            self._stream.flush()


@contextmanager
def lasting_streams() -> Iterator[LastingStream]:
    """A block in which writes to stdout and stderr never fail; yields stdout."""
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        out, err = (LastingStream(nowhere if stream is None else stream) for stream in before)
        sys.stdout, sys.stderr = out, err
        try:
            yield out
        finally:
            out.flush()
            err.flush()
            sys.stdout, sys.stderr = before


def lost_output(stream: LastingStream) -> OSError | None:
    """The error that lost output; None if all was written, or the reader closed the pipe."""
    stream.flush()
    return None if stream.fault is None or stream.fault.errno == errno.EPIPE else stream.fault
