"""What fits in a bound on memory: the rows of a block, and what Sinkhorn keeps between rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from unhub.core.threads import share
from unhub.foundation.types import AnyArray

Kind = Literal["cached", "cached in 16 bits", "partly cached", "streamed"]

WORTH_KEEPING = 0.25
"""share of the rows below which keeping them saves less than a taller block does"""

LARGEST_BLOCK = 1 << 20
"""scores in a block, at most: a larger one leaves the cache and gains nothing"""

LARGEST_TALL_BLOCK = 1 << 27
"""scores in a tall block, at most: about a second of a processor's time, half a gigabyte"""

TALL_ROWS = 4096
"""rows beyond which a matrix product hardly gets faster, while fresh memory still costs"""

FEWEST_ROWS = 64
"""rows that a matrix product needs at once to be fast, whatever the width"""

WORTH_FAULTING = 1 << 22
"""bytes below which waking a thread costs more than the pages do"""

PAGE = 1 << 12
"""bytes of a page of memory, at least"""

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
    """Fresh memory, every page of which was written to once.

    The system hands out pages far faster in order than to the threads of a product that ask here and there.
    """
    memory = np.empty(shape, dtype)
    if memory.nbytes < WORTH_FAULTING:
        return memory
    pages = memory.reshape(-1)[:: max(1, PAGE // memory.itemsize)]

    def touch(part: int, start: int, stop: int) -> None:
        pages[start:stop] = 0

    share(len(pages), touch, parts=threads, threads=threads)
    return memory


def split_memory(memory: int) -> tuple[int, int]:
    """Bytes for the blocks in work, a quarter, and for the blocks that are kept, the rest."""
    return memory // 4, memory - memory // 4


@dataclass(frozen=True)
class Plan:
    """What is kept of a matrix (rows, columns) of scores, and how many rows are at work at once.

    cached: the scores are computed once, the kernel stays in memory as float32, and a round is one pass over it.
    cached in 16 bits: the same with half the memory; the error that this adds is bounded and reported.
    partly cached: as many rows as fit are kept, the others are computed again in each round.
    streamed: nothing is kept, each round computes the scores again.
    """

    kind: Kind
    rows: int
    columns: int
    kept_rows: int
    block_rows: int
    number_bytes: int = 4
    logs: bool = False
    """scores are kept instead of the kernel, whose numbers were too small, and steps run in the log domain"""

    @property
    def kept_bytes(self) -> int:
        """memory for the kernel between rounds"""
        return self.kept_rows * self.columns * self.number_bytes

    @property
    def block_bytes(self) -> int:
        """memory for the scores at work; a kernel that is kept as float32 is made in its place"""
        return 0 if self.kind == "cached" else self.block_rows * self.columns * 4

    def products(self, rounds: int) -> float:
        """Matrix products of the whole shape that so many rounds compute."""
        return 1 + (rounds - 1) * (1 - self.kept_rows / max(1, self.rows))

    def part(self, rows: int, shards: int) -> Plan:
        """The plan of a shard of so many rows, while others work beside it in the same memory."""
        if shards == 1:
            return self
        height = max(1, min(rows, self.block_rows // shards))
        kept = rows if self.kept_rows == self.rows else self.kept_rows * rows // self.rows // height * height
        return replace(self, rows=rows, kept_rows=kept, block_rows=height)

    def __str__(self) -> str:
        what, kept = "scores are" if self.logs else "kernel is", in_words(self.kept_bytes)
        if self.kind == "partly cached":
            share = self.kept_rows / self.rows
            how = f"{share:.0%} of the {what} kept, {kept}, the rest is computed again in each round"
        elif self.kind == "streamed":
            how = f"scores are computed again in each round, {in_words(self.block_bytes)} at a time"
        else:
            how = f"scores are computed once and {'' if self.logs else 'the kernel is '}kept, {kept}"
        why = "; in the log domain, since tau is small beside the scores" if self.logs else ""
        return f"{self.kind}: {how}{why}"


def plan(
    rows: int,
    columns: int,
    memory: int,
    *,
    compiled: bool,
    number_bytes: int = 4,
    halves: bool = True,
    at_most: int | None = None,
) -> Plan:
    """The fastest plan within a memory.

    compiled: blocks are read by compiled kernels, which need no temporaries and, with ``halves``, can keep a kernel in
    16 bits. at_most: rows of a block at the most, where the caller has a wish.
    """
    tall = min(memory // 4, LARGEST_TALL_BLOCK * 4)

    def height(columns: int, memory: int) -> int:
        return (tall_rows if compiled else block_rows)(columns, memory, at_most)

    whole = rows * columns * number_bytes
    if whole <= memory - tall:
        return Plan("cached", rows, columns, rows, min(rows, height(columns, tall)), number_bytes)
    if compiled and halves and rows * columns * 2 <= memory - tall:
        return Plan("cached in 16 bits", rows, columns, rows, min(rows, height(columns, tall)), 2)
    kept = (memory - tall) // (columns * number_bytes)
    if kept >= WORTH_KEEPING * rows:
        at_once = min(rows, height(columns, tall))
        return Plan("partly cached", rows, columns, kept // at_once * at_once, at_once, number_bytes)
    return Plan("streamed", rows, columns, 0, min(rows, height(columns, memory * 3 // 4)), number_bytes)


def for_scores(memory: int) -> int:
    """What a bound on memory leaves for scores, beside sums and vectors."""
    return memory - memory // 8


def in_words(number: float) -> str:
    """Bytes as people say them.

    >>> in_words(800_000_000), in_words(12)
    ('800 MB', '12 bytes')
    """
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} GB" if number < 1000 else f"{number / 1000:.1f} TB"
