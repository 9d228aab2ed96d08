"""What a file promises is compared with what it holds and with the memory there is, before anything is loaded."""

from __future__ import annotations

from unhub.core.blocks import default_memory
from unhub.core.plan import in_words
from unhub.io.address import SEPARATOR, Address

DEFLATE_RATIO = 1032
"""times that gzip can make a file smaller at the very most: one bit of it stands for 129 bytes or less"""


def check_promise(address: Address, key: str, promised: int, *, stored: int, ratio: int) -> None:
    """An error if an array is larger than its bytes on disk could ever become, and too large for memory as well.

    What fits in memory may be empty on disk: formats with chunks leave out what was never written.
    """
    if promised > max(default_memory(), stored * ratio):
        raise address.problem(
            f"promises {in_words(promised)}{_of(key)} but holds {in_words(stored)}: it was never filled, or it is "
            "damaged; write it again."
        )


def check_loaded_whole(address: Address, key: str, promised: int, *, what: str = "read whole, it") -> None:
    """An error if something that is read in one piece does not fit in memory."""
    if promised > default_memory():
        raise address.problem(
            f"cannot be read{_of(key)}: {what} takes {in_words(promised)} of memory, and unhub takes at most "
            f"{in_words(default_memory())} here; write it in smaller pieces."
        )


def _of(key: str) -> str:
    return f" for {SEPARATOR}{key}" if key else ""
