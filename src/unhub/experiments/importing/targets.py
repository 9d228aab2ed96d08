"""Targets that were written once for each of their queries, as one target each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.foundation.types import BoolArray, IntArray

MOSTLY = 1 / 3
"""share of repeats from which on they are meant: one caption and a half for each image; fewer are look-alikes"""


@dataclass(frozen=True, eq=False)
class Targets:
    """Published targets, and which of ours each of them is."""

    number: IntArray
    """(published,): the row of the same target among ours"""
    said: str | None = None

    @property
    def published(self) -> int:
        """How many there were."""
        return len(self.number)

    @property
    def count(self) -> int:
        """How many different ones there are."""
        return int(self.number[-1]) + 1

    @property
    def firsts(self) -> IntArray | None:
        """The first of each among the published, or None where no two are the same."""
        return None if self.count == self.published else np.flatnonzero(np.diff(self.number, prepend=-1))


def distinct(repeats: BoolArray, what: str) -> Targets:
    """The different targets, if enough of them repeat the one before; ``what`` is what a sentence calls them."""
    count, published = int((~repeats).sum()), len(repeats)
    if count == published:
        return Targets(np.arange(published))
    if count == 1 or published - count < MOSTLY * published:
        same = f"{what} that are the same as the one before, kept: {published - count:,} of {published:,}"
        return Targets(np.arange(published), same)
    return Targets(np.cumsum(~repeats) - 1, f"{count:,} different of {published:,} {what}; each was taken once")
