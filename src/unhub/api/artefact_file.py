"""The bytes of a correction file, once it is known that they can be read at all."""

from __future__ import annotations

import os
from pathlib import Path

from unhub.core.free_memory import physical_memory
from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import open_regular

LONGEST_HEADER = 8 << 20
"""bytes of a file's header: notes and the places of its parts, some kilobytes where nobody has made it up"""


def whole_file(file: Path) -> bytes:
    """What is in a regular file that is no larger than memory, and whose header is no larger than ours are."""
    if not file.exists():
        raise InputError(f"there is no file {file}; write one with unhub fit ... -o {file.name}.")
    try:
        with open_regular(file) as opened:
            size = os.fstat(opened.fileno()).st_size
            _check_beginning(file, opened.read(9), size)
            if size > physical_memory():
                raise InputError(f"{file} has {size:,} bytes, more than this machine has memory; use a larger machine.")
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
