"""How many rows fit in a share of memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.core.threads import share
from unhub.foundation.types import AnyArray

LARGEST_BLOCK = 1 << 20
"""scores in a block at the most: past this a block leaves the cache and gains nothing"""

LARGEST_TALL_BLOCK = 1 << 27
"""scores in a tall block at the most: about a second of a processor's time, half a gigabyte"""

TALL_ROWS = 4096
"""rows from which on a matrix product hardly gains from more; fresh memory for them has its price too"""

FEWEST_ROWS = 64
"""rows that a matrix product wants at once, whatever the width"""

PAGE = 1 << 12
"""bytes that the system hands out at once, at least"""

TEMPORARIES = 6
"""arrays of a block's size that may be alive at once: scores, shifted scores, exponentials, float64 sums"""


def block_rows(columns: int, memory: int, at_most: int | None = None) -> int:
    """Rows of scores to hold at once: at least one, at most a cache-sized block, or ``at_most`` rows."""
    affordable = memory // (4 * TEMPORARIES) // max(1, columns)
    useful = max(FEWEST_ROWS, LARGEST_BLOCK // max(1, columns)) if at_most is None else at_most
    return max(1, min(affordable, useful))


def tall_rows(columns: int, memory: int, at_most: int | None = None) -> int:
    """Rows of scores to compute at once for kernels that need no temporaries: a tall block makes a fast product."""
    rows = max(1, min(memory // 4, LARGEST_TALL_BLOCK) // max(1, columns))
    return rows if at_most is None else min(rows, at_most)


def prefault(shape: tuple[int, int], dtype: Any, threads: int) -> AnyArray:
    """Fresh memory, of which every page was written to once.

    The system hands out its pages far faster in order than to the threads of a product that ask here and there.
    """
    memory = np.empty(shape, dtype)
    pages = memory.reshape(-1)[:: max(1, PAGE // memory.itemsize)]

    def touch(part: int, start: int, stop: int) -> None:
        pages[start:stop] = 0

    share(len(pages), touch, parts=threads, threads=threads)
    return memory


def divided(memory: int) -> tuple[int, int]:
    """The bytes for blocks at work and the bytes for blocks kept: a quarter and the rest."""
    return memory // 4, memory - memory // 4
