"""Progress of long work: how many bank rows were read, of how many."""

from __future__ import annotations

from dataclasses import replace

from unhub.foundation.types import Progress as Progress
from unhub.scores import Banks, ProgressSource


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

    return replace(banks, queries=ProgressSource(banks.queries, advance))
