"""As much of a set as can be ranked again in a moment, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.foundation.types import IntArray

TEST_CELLS = 6_000_000
"""scores that are ranked again when a setting changes: 5,000 queries x 1,000 targets are whole"""
BANK_CELLS = 15_000_000
"""scores that a bias is estimated from"""
FEWEST = 200
"""queries, of the test set and of a bank, that stay however many targets there are"""
MOST_TARGETS = 100_000
"""targets that a page lists; their names alone are megabytes"""


@dataclass(frozen=True)
class Sample:
    """Rows that stay, and a sentence about it where not all do."""

    rows: IntArray
    said: str | None = None


def sampled(size: int, most: int, what: str, rng: np.random.Generator) -> Sample:
    """At most so many rows, drawn at random, in order.

    >>> sampled(3, 10, "queries", np.random.default_rng(0))
    Sample(rows=array([0, 1, 2]), said=None)
    """
    if size <= most:
        return Sample(np.arange(size))
    rows = np.sort(rng.permutation(size)[:most])
    return Sample(rows, f"{most:,} of {size:,} {what}, drawn at random")


def queries_kept(queries: int, gallery: int, cells: int) -> int:
    """How many queries can be ranked again in a moment over so many targets."""
    return min(queries, max(FEWEST, cells // max(1, gallery)))


def targets_kept(right: IntArray, gallery: int, most: int, rng: np.random.Generator) -> Sample:
    """Targets of a gallery that is too large to be shown: those that are right, and others at random.

    Whatever is drawn otherwise, by rank say, would favour the ranking that it was drawn by.
    """
    if gallery <= most:
        return Sample(np.arange(gallery))
    kept = np.zeros(gallery, dtype=bool)
    kept[right] = True
    free = rng.permutation(np.flatnonzero(~kept))
    kept[free[: max(0, most - int(kept.sum()))]] = True
    rows = np.flatnonzero(kept)
    said = f"{len(rows):,} of {gallery:,} targets, the right ones and others drawn at random (ranks are among them)"
    return Sample(rows, said)
