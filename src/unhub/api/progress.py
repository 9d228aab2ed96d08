"""Progress of long work: how many bank rows were read, of how many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from unhub.banks import Banks, WatchedBank
from unhub.methods import Method, settings

Progress = Callable[[str, int, int], None]
"""called with the name of the work, rows read so far and rows to read in all"""


def watched(banks: Banks, method: Method, progress: Progress | None) -> Banks:
    """The banks, telling ``progress`` about every block of the query bank that a method reads."""
    if progress is None:
        return banks
    rounds = settings(method).get("iterations")
    total = banks.queries.shape[0] * (1 if rounds is None else rounds + 1)
    done = 0

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        progress(method.name, min(done, total), total)

    return replace(banks, queries=WatchedBank(banks.queries, advance))
