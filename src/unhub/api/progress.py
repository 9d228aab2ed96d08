"""Progress of long work: how many bank rows were read, of how many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from unhub.banks import Banks, WatchedBank
from unhub.methods import Method, settings

Progress = Callable[[str, int, int], None]
"""called with the name of the work, rows read so far and rows to read in all"""


def watched(banks: Banks, work: str, progress: Progress | None, *, reads: int = 1) -> Banks:
    """The banks, telling ``progress`` about every block of the query bank that is read."""
    if progress is None:
        return banks
    total = banks.queries.shape[0] * reads
    done = 0

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        progress(work, min(done, total), total)

    return replace(banks, queries=WatchedBank(banks.queries, advance))


def reads_of(method: Method) -> int:
    """How often a fit reads the bank: once, or once a round and once more for the marginal error."""
    rounds = settings(method).get("iterations")
    return 1 if rounds is None else int(rounds) + 1
