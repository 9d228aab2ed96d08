"""The spread of a bank's scores, which tau has to follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unhub.core.arrays import host
from unhub.core.execution import merge_tree
from unhub.foundation.types import FloatArray
from unhub.scores.source import ScoreSource

SAMPLE = 1 << 18
"""scores in the sample; their standard deviation is accurate to a fraction of a percent"""

SLICES = 16
"""slices of the bank in a sample"""

TAU_PER_STD = 1 / 3
"""tau="auto": measured best at roughly a third of the standard deviation on CLIP-like and other scores"""


@dataclass(frozen=True)
class Spread:
    """Standard deviation and range of the scores in a sample of bank rows."""

    std: float
    low: float
    high: float

    @property
    def largest(self) -> float:
        """the largest score by size"""
        return max(abs(self.low), abs(self.high))

    @property
    def tau(self) -> float:
        """the temperature that suits this spread"""
        return self.std * TAU_PER_STD


@dataclass(frozen=True)
class SpreadSums:
    """Count, mean, squared deviations and range of some scores."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    @classmethod
    def of(cls, scores: FloatArray) -> SpreadSums:
        """Of the finite ones among these."""
        finite = scores[np.isfinite(scores)]
        if finite.size == 0:
            return cls()
        mean = float(finite.mean(dtype=np.float64))
        squares = float(np.square(finite.astype(np.float64) - mean).sum())
        return cls(finite.size, mean, squares, float(finite.min()), float(finite.max()))

    def merge(self, other: SpreadSums) -> SpreadSums:
        """Of both."""
        count = self.count + other.count
        part = other.count / max(1, count)
        gap = other.mean - self.mean
        squares = self.squares + other.squares + gap**2 * self.count * part
        return SpreadSums(count, self.mean + gap * part, squares, min(self.low, other.low), max(self.high, other.high))

    def finish(self) -> Spread:
        """Zero where there are none."""
        return Spread((self.squares / self.count) ** 0.5, self.low, self.high) if self.count else Spread(0.0, 0.0, 0.0)


def spread(source: ScoreSource) -> Spread:
    """Spread of the finite scores in evenly spaced rows of the bank; deterministic."""
    sums: SpreadSums = merge_tree(SpreadSums.merge, [SpreadSums(), *map(SpreadSums.of, sample(source))])
    return sums.finish()


def sample(source: ScoreSource) -> Iterator[FloatArray]:
    """Scores of evenly spaced rows, of every so many columns where the gallery is wide.

    Each row begins with another column, since galleries often interleave two kinds of item.
    """
    rows, columns = source.shape
    wanted = min(rows, max(SLICES, SAMPLE // max(1, columns)))
    step = max(1, wanted * columns // SAMPLE)
    starts, height = slices(rows, wanted)
    place = 0
    for start in starts:
        for low in range(start, start + height, source.block_rows):
            scores = host(source.read(low, min(low + source.block_rows, start + height)))
            spaced = [row[(place + i) % step :: step] for i, row in enumerate(scores)] if step > 1 else [scores]
            yield np.concatenate(spaced)
            place += len(scores)


def slices(rows: int, wanted: int) -> tuple[list[int], int]:
    """First rows and height of slices with about so many of the rows; one slice if there are no more."""
    if rows <= wanted:
        return [0], rows
    number = min(SLICES, wanted)
    height = wanted // number
    return np.unique(np.linspace(0, rows - height, number).astype(np.int64)).tolist(), height
