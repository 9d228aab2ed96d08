"""What a file promises to become in memory, compared with a limit before anything of it is loaded.

A small file can promise much: an archive that unpacks to a thousand times its size, a header with a long shape.
"""

from __future__ import annotations

from unhub.core.blocks import default_memory
from unhub.foundation.errors import InputError
from unhub.io.address import SEPARATOR, Address

_UNITS = ((1 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"))


def largest() -> int:
    """Bytes that a file may become when it is read whole: the memory that was free, of which the default is half."""
    return 2 * default_memory()


def check_promise(address: Address, size: int, *, part: str = "") -> None:
    """An error if the file, or a part of it, promises more bytes than there is memory for."""
    limit = largest()
    if size > limit:
        place = f"{address.path}{SEPARATOR}{part}" if part else str(address.path)
        raise InputError(
            f"{address.name}: {place} promises {in_words(size)} when it is read, from a file of "
            f"{in_words(address.size)}, and the limit is {in_words(limit)}, the memory that is free; if it is what you "
            f"expect, convert it to .npy, which is read in blocks."
        )


def in_words(size: int) -> str:
    """Bytes as a person says them.

    >>> in_words(3 << 30), in_words(2_600_000), in_words(57)
    ('3.0 GB', '2.5 MB', '57 bytes')
    """
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:,} bytes"
