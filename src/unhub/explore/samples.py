"""As much of a set as can be ranked again in a moment, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.foundation.types import IntArray

TEST_CELLS = 6_000_000
"""scores that are ranked again when a setting changes: 5,000 queries x 1,000 targets are whole"""
BANK_CELLS = 15_000_000
"""scores that a bias is estimated from"""
FEWEST = 500
"""queries that stay, however many targets there are"""


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


def queries_kept(queries: int, gallery: int, cells: int = TEST_CELLS) -> int:
    """How many queries can be ranked again in a moment over so many targets."""
    return min(queries, max(FEWEST, cells // max(1, gallery)))


def targets_kept(gallery: int, cells: int = TEST_CELLS) -> int:
    """How many targets can be, where there are so many that even few queries would take too long."""
    return min(gallery, max(1, cells // FEWEST))


def targets_that_matter(
    top: IntArray, relevant: IntArray, gallery: int, most: int, rng: np.random.Generator
) -> IntArray:
    """Targets to keep of a large gallery: what is right, what is retrieved, best places first, and some of the rest."""
    kept = np.zeros(gallery, dtype=bool)
    kept[relevant] = True
    for place in range(top.shape[1]):
        if int(kept.sum()) + len(np.setdiff1d(top[:, place], np.flatnonzero(kept))) > most:
            break
        kept[top[:, place]] = True
    free = np.flatnonzero(~kept)
    more = rng.permutation(free)[: max(0, most - int(kept.sum()))]
    kept[more] = True
    return np.flatnonzero(kept)
