"""The bytes of a correction file, once it is known that they can be read at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from unhub.core.free_memory import physical_memory
from unhub.foundation.errors import InputError

LONGEST_HEADER = 8 << 20
"""bytes of a file's header: notes and the places of its parts, some kilobytes where nobody has made it up"""


def whole_file(file: Path) -> bytes:
    """What is in a regular file that is no larger than memory, and whose header is no larger than ours are."""
    if not file.exists():
        raise InputError(f"there is no file {file}; write one with unhub fit ... -o {file.name}.")
    try:
        with open(file, "rb", 0, opener=_without_waiting) as opened:
            state = os.fstat(opened.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise InputError(f"{file} is not a regular file; give a file that unhub fit wrote.")
            _check_beginning(file, opened.read(9), state.st_size)
            if state.st_size > physical_memory():
                raise InputError(
                    f"{file} has {state.st_size:,} bytes, more than this machine has memory; use a larger machine."
                )
            opened.seek(0)
            return opened.read()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}.") from error


def _check_beginning(file: Path, begin: bytes, size: int) -> None:
    """Looks at the first nine bytes: how long the header is, and its first sign."""
    if file.suffix != ".unhub" and begin[8:] != b"{":
        raise InputError(f"{file} is not a correction; give a file that unhub fit wrote (it ends in .unhub).")
    header = int.from_bytes(begin[:8], "little")
    if len(begin) < 9 or header > min(LONGEST_HEADER, size):
        reason = f"its header would be {header:,} bytes" if len(begin) == 9 else "it is cut short"
        raise InputError(f"{file} is not a whole correction file ({reason}); fit again.")


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file; a pipe that nobody writes to would otherwise be waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
