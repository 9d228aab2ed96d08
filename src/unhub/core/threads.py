"""Work on parts of a range, on several threads.

The threads are unhub's own; settings of NumPy and BLAS stay as they are. An `Execution` says how many.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache

Work = Callable[[int, int, int], None]
"""called with the number, the start and the end of a part"""

PARTS = 3
"""parts, each on its own thread, for each processor: BLAS's threads spin for a while after a matrix product, and more
threads than processors win more of the time from them"""


def parts_for(part_bytes: int, memory: int, threads: int) -> int:
    """How many parts to divide work into, if each needs so many bytes, within a memory."""
    return 1 if threads == 1 else max(1, min(threads * PARTS, memory // max(1, part_bytes)))


def share(size: int, work: Work, *, parts: int, threads: int, step: int = 1) -> None:
    """Calls work(part, start, stop) for each part of 0..size; parts are multiples of ``step`` but for the last.

    The caller's thread works too, so short work is done before another thread wakes up. Which rows belong to which part
    does not depend on time, so that sums of the parts are the same in every run.
    """
    height = max(step, -(-size // (parts * step)) * step)
    ranges = [(part, start, min(start + height, size)) for part, start in enumerate(range(0, size, height))]
    if len(ranges) < 2:
        work(0, 0, size)
        return
    parts_left = _Parts(work, ranges)
    others: list[Future[None]] = []
    try:
        with suppress(RuntimeError):  # no more threads allowed: the others do the work
            for _ in ranges[1:]:
                others.append(_pool(os.getpid(), threads * PARTS).submit(parts_left.do))
        parts_left.do()
    finally:
        parts_left.drop()
        running = [each for each in others if not each.cancel()]
        wait(running)
    for each in running:
        each.result()


class _Parts:
    """Parts of some work that wait for a thread; when all are done, the work and its arrays are released."""

    def __init__(self, work: Work, ranges: list[tuple[int, int, int]]) -> None:
        self._work: Work | None = work
        self._ranges = deque(ranges)

    def do(self) -> None:
        """Works on one part after the other until none is left, or one fails."""
        work = self._work
        while work is not None:
            try:
                part = self._ranges.popleft()
            except IndexError:
                return
            try:
                work(*part)
            except BaseException:
                self.drop()
                raise

    def drop(self) -> None:
        """No other part begins."""
        self._ranges.clear()
        self._work = None


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads that wait for work; a forked process makes its own."""
    return ThreadPoolExecutor(threads, thread_name_prefix="unhub")
