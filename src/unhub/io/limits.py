"""The memory that a file would take, compared with a limit before any of it is loaded.

A small file can ask for a lot: an archive that unpacks to a thousand times its size, a header with a long shape.
"""

from __future__ import annotations

from unhub.core.plan import in_words
from unhub.executors import default_memory
from unhub.foundation.errors import InputError
from unhub.io.address import SEPARATOR, Address

DEFLATE_RATIO = 1032
"""times that gzip can make a file smaller at the very most: one bit of it stands for 129 bytes or less"""


def largest() -> int:
    """Bytes that a file may become when it is read whole: the memory that was free, of which the default is half."""
    return 2 * default_memory()


def check_size(address: Address, size: int, *, part: str = "") -> None:
    """An error if a file that is read whole, or a part of it, would take more memory than is free."""
    limit = largest()
    if size > limit:
        raise InputError(
            f"{address.subject(part)} would take {in_words(size)} of memory, from a file of {in_words(address.size)}, "
            f"and {in_words(limit)} are free; if that is right, convert it to .npy, which is read in blocks."
        )


def check_stored(address: Address, key: str, size: int, *, stored: int, ratio: int) -> None:
    """An error if an array is larger than its bytes on disk could ever become, and too large for memory as well.

    What fits in memory may be empty on disk: formats with chunks leave out what was never written.
    """
    if size > max(default_memory(), stored * ratio):
        raise address.problem(
            f"declares {in_words(size)}{_of(key)} but holds {in_words(stored)}: it was never filled, or is damaged; "
            "write it again."
        )


def check_loaded_whole(address: Address, key: str, size: int, *, what: str = "read whole, it") -> None:
    """An error if a piece of an array that is otherwise read in blocks does not fit in memory."""
    if size > default_memory():
        raise address.problem(
            f"cannot be read{_of(key)}: {what} takes {in_words(size)} of memory, and unhub uses at most "
            f"{in_words(default_memory())} here; write it in smaller pieces."
        )


def _of(key: str) -> str:
    return f" for {SEPARATOR}{key}" if key else ""
