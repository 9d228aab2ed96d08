"""Work on parts of a range, on several threads.

The threads are unhub's own: no setting of NumPy's, BLAS's or anybody else's is touched. How many to use is part of an
`unhub.core.execution.Execution`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache

Work = Callable[[int, int, int], None]
"""what is called with a part's number, its start and its end"""

PARTS = 3
"""parts for each processor, each on a thread of its own: a matrix product leaves BLAS's threads spinning for a while,
and beside them more threads than processors get the larger part of the time"""


def parts_for(part_bytes: int, memory: int, threads: int) -> int:
    """Into how many parts to divide work whose every part holds so many bytes of its own, within a memory."""
    return 1 if threads == 1 else max(1, min(threads * PARTS, memory // max(1, part_bytes)))


def share(size: int, work: Work, *, parts: int, threads: int, step: int = 1) -> None:
    """Calls work(part, start, stop) for each part of 0..size; parts are multiples of ``step`` but for the last.

    The caller's thread works too, and takes what no other has begun: short work is done before a thread has woken up.
    Which rows belong to which part depends on the numbers alone and not on time, so that sums which are kept for each
    part come out the same in every run.
    """
    height = max(step, -(-size // (parts * step)) * step)
    ranges = [(part, start, min(start + height, size)) for part, start in enumerate(range(0, size, height))]
    if len(ranges) < 2:
        work(0, 0, size)
        return
    parts_left = _Parts(work, ranges)
    others: list[Future[None]] = []
    try:
        with suppress(RuntimeError):  # a limit allows no more threads: those that there are do it
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
    """Parts of some work that wait for a thread.

    A thread that comes when all is done finds nothing here, not even the work: its arrays can be given back.
    """

    def __init__(self, work: Work, ranges: list[tuple[int, int, int]]) -> None:
        self._work: Work | None = work
        self._ranges = deque(ranges)

    def do(self) -> None:
        """Works on one part after the other until none is left, or one went wrong."""
        work = self._work
        while work is not None:
            try:
                part = self._ranges.popleft()
            except IndexError:  # none is left
                return
            try:
                work(*part)
            except BaseException:
                self.drop()
                raise

    def drop(self) -> None:
        """Nobody begins another part."""
        self._ranges.clear()
        self._work = None


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads that wait for work; a forked process makes its own."""
    return ThreadPoolExecutor(threads, thread_name_prefix="unhub")
