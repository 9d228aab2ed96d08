"""Progress of long work: how many bank rows were read, of how many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from unhub.banks import Banks, WatchedBank
from unhub.methods import Method, settings
from unhub.methods.sn import ITERATIONS, MOST_ITERATIONS

Progress = Callable[[str, int, int], None]
"""called with the name of the work, rows read so far and rows to read in all"""


def watched(banks: Banks, work: str, progress: Progress | None) -> Banks:
    """The banks, telling ``progress`` about every block of the query bank that is read, for work that reads it once."""
    if progress is None:
        return banks
    total = banks.queries.shape[0]
    done = 0.0

    def advance(rows: float) -> None:
        nonlocal done
        done += rows
        progress(work, min(round(done), total), total)

    return replace(banks, queries=WatchedBank(banks.queries, advance))


def rounds_of(method: Method) -> int | None:
    """How many rounds a fit takes at the most; None for a method that reads the bank once."""
    chosen = settings(method)
    if "iterations" not in chosen:
        return None
    return int(chosen["iterations"] or (ITERATIONS if chosen.get("tol") is None else MOST_ITERATIONS))
