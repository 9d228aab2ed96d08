"""How many rows fit in a share of memory."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from unhub.core.threads import available, share
from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray

UNKNOWN_MEMORY = 4 << 30
"""bytes that are taken to be free where the system does not say"""

LARGEST_BLOCK = 1 << 20
"""scores in a block at the most: past this a block leaves the cache and gains nothing"""

LARGEST_SLAB = 1 << 27
"""scores in a tall block at the most: about a second of a processor's time, half a gigabyte"""

SLAB_ROWS = 4096
"""rows from which on a matrix product hardly gains from more; fresh memory for them has its price too"""

FEWEST_ROWS = 64
"""rows that a matrix product wants at once, whatever the width"""

PAGE = 1 << 12
"""bytes that the system hands out at once, at least"""

TEMPORARIES = 6
"""arrays of a block's size that may be alive at once: scores, shifted scores, exponentials, float64 sums"""

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
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
        return default_memory()
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(memory))
    if found is None or found[2].lower() not in _UNITS or float(found[1]) <= 0:
        raise InputError(f"memory is {memory!r}; give a size such as '64MB' or '2GB' (units: B, kB, MB, GB, TB).")
    return int(float(found[1]) * _UNITS[found[2].lower()])


@cache
def default_memory() -> int:
    """Half of the memory that was free when it was first asked for, the limits of a container included."""
    free = [_meminfo(Path("/proc/meminfo")), _container(Path("/sys/fs/cgroup")), _physical()]
    return min((each for each in free if each is not None), default=UNKNOWN_MEMORY) // 2


def installed_memory() -> int:
    """All the memory of this machine, in bytes."""
    return _physical() or UNKNOWN_MEMORY


def _meminfo(file: Path) -> int | None:
    """What Linux calls available."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", file.read_text(), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else int(found[1]) << 10


def _container(folder: Path) -> int | None:
    """What is left of a control group's limit."""
    try:
        limit, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):
        return None
    return max(0, limit - used)


def _physical() -> int | None:
    """All there is, where the system has no better answer."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def block_rows(columns: int, memory: int) -> int:
    """Rows of scores to hold at once: at least one, at most a cache-sized block."""
    affordable = memory // (4 * TEMPORARIES) // max(1, columns)
    useful = max(FEWEST_ROWS, LARGEST_BLOCK // max(1, columns))
    return max(1, min(affordable, useful))


def slab_rows(columns: int, memory: int) -> int:
    """Rows of scores to compute at once for kernels that need no temporaries: a tall block makes a fast product."""
    return max(1, min(memory // 4, LARGEST_SLAB) // max(1, columns))


def touched(shape: tuple[int, int], dtype: Any) -> AnyArray:
    """Fresh memory, of which every page was written to once.

    The system hands out its pages far faster in order than to the threads of a product that ask here and there.
    """
    memory = np.empty(shape, dtype)
    pages = memory.reshape(-1)[:: max(1, PAGE // memory.itemsize)]

    def touch(part: int, start: int, stop: int) -> None:
        pages[start:stop] = 0

    share(len(pages), touch, parts=available())
    return memory


def divided(memory: int) -> tuple[int, int]:
    """The bytes for blocks at work and the bytes for blocks kept: a quarter and the rest."""
    return memory // 4, memory - memory // 4
