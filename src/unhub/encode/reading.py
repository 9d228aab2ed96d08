"""Reading ahead: the files of the next batch are read while the model works on this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from unhub.encode.media import BrokenFileError

THREADS = 4
"""decoders let go of the interpreter, so a few of them keep a device busy"""


def read_ahead(
    values: Sequence[Any], read: Callable[[Any], Any], *, first: int, step: int
) -> Iterator[tuple[int, list[Any]]]:
    """(place of the first, what was read) batch by batch from ``first`` on; a broken file stands as its error."""

    def attempt(value: Any) -> Any:
        try:
            return read(value)
        except BrokenFileError as error:
            return error

    pool = ThreadPoolExecutor(THREADS)

    def begin(start: int) -> list[Future[Any]]:
        return [pool.submit(attempt, value) for value in values[start : start + step]]

    try:
        following = begin(first)
        for start in range(first, len(values), step):
            current, following = following, begin(start + step)
            yield start, [each.result() for each in current]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
