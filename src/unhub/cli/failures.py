"""From an exception to one sentence and an exit code; nobody sees a traceback who did not ask for one."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

from unhub.foundation.disk_refusals import DISK_REFUSALS
from unhub.foundation.errors import UnhubError
from unhub.foundation.printable import printable

OK, BUG, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

_REASONS = {
    **DISK_REFUSALS,
    errno.EISDIR: "it is a folder; give the name of a file",
    errno.ENOTDIR: "a part of the path is not a folder; check the path",
    errno.EEXIST: "there is a file of that name already; choose another place",
    errno.ENOENT: "there is no such file; check the path",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


@dataclass(frozen=True)
class Failure:
    """How a command ended: the exit code, and what to say on stderr (nothing, if it ended well)."""

    code: int
    sentence: str | None = None


def failure(error: BaseException, place: str | None = None) -> Failure:
    """What to tell of an exception that ended a command; place: where it came from, if that is known."""
    if isinstance(error, KeyboardInterrupt):
        return Failure(INTERRUPTED, "interrupted")
    if isinstance(error, UnhubError):
        return Failure(BAD_INPUT, _ended(printable(str(error))))
    if isinstance(error, MemoryError):
        return Failure(BAD_INPUT, "this does not fit in memory; pass a smaller --memory or a smaller file.")
    if isinstance(error, BrokenPipeError | ConnectionResetError | ConnectionAbortedError):
        return Failure(BAD_INPUT, "the other end closed the connection; try again.")
    if isinstance(error, OSError):
        return Failure(BAD_INPUT, printable(_file_sentence(error, place)))
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return Failure(BAD_INPUT, "a limit of this machine allows no more threads; set OMP_NUM_THREADS=1, or raise it.")
    if isinstance(error, SystemExit):
        return Failure(error.code if isinstance(error.code, int) else OK if error.code is None else BUG)
    if hasattr(error, "format_message"):
        return Failure(BAD_INPUT, printable(_usage_sentence(error)))
    if hasattr(error, "exit_code"):
        return Failure(int(error.exit_code))
    return Failure(
        BUG,
        f"this is a bug ({type(error).__name__}: {_short(str(error))}); please report it with what "
        f"'unhub --debug ...' prints.",
    )


def _file_sentence(error: OSError, place: str | None) -> str:
    place = place or ("a file" if error.filename is None else os.fsdecode(error.filename))
    reason = _REASONS.get(error.errno or 0) or (error.strerror or _short(str(error))).lower()
    return f"cannot use {place}: {reason}."


def _usage_sentence(error: BaseException) -> str:
    """The words of typer's own errors, shortened to one line; it keeps their class to itself."""
    message: str = error.format_message().strip()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    path = "unhub" if context is None else context.command_path
    link = " See" if message.endswith("?") else "; see"
    return f"{message[:1].lower()}{message[1:].rstrip('.')}{link} {path} --help."


def _ended(text: str) -> str:
    """The sentence with a full stop, unless it ends with something to be copied."""
    return f"{text}." if text[-1:].isalnum() else text


def _short(text: str, most: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}..."
