"""How many rows fit in a share of memory."""

from __future__ import annotations

import re

from unhub.foundation.errors import InputError

DEFAULT_MEMORY = 2 << 30
"""bytes that score blocks may take when the caller names no bound"""

LARGEST_BLOCK = 1 << 20
"""scores in a block at the most: past this a block leaves the cache and gains nothing"""

FEWEST_ROWS = 64
"""rows that a matrix product wants at once, whatever the width"""

TEMPORARIES = 6
"""arrays of a block's size that may be alive at once: scores, shifted scores, exponentials, float64 sums"""

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
}


def memory_bytes(memory: str | int | None) -> int:
    """Bytes from a number or from words such as "64MB" and "2 GiB".

    >>> memory_bytes("64MB"), memory_bytes(1024)
    (64000000, 1024)
    """
    if memory is None:
        return DEFAULT_MEMORY
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(memory))
    if found is None or found[2].lower() not in _UNITS or float(found[1]) <= 0:
        raise InputError(f"memory is {memory!r}; give a positive size such as '64MB' or '2GB'.")
    return int(float(found[1]) * _UNITS[found[2].lower()])


def block_rows(columns: int, memory: int) -> int:
    """Rows of scores to hold at once: at least one, at most a cache-sized block."""
    affordable = memory // (4 * TEMPORARIES) // max(1, columns)
    useful = max(FEWEST_ROWS, LARGEST_BLOCK // max(1, columns))
    return max(1, min(affordable, useful))


def divided(memory: int) -> tuple[int, int]:
    """The bytes for blocks at work and the bytes for blocks kept: a quarter and the rest."""
    return memory // 4, memory - memory // 4
