"""The spread of a bank's scores, which tau has to follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.banks.bank import Bank
from unhub.banks.sampled import SLICES, read_slices, slices
from unhub.core.arrays import host
from unhub.foundation.types import FloatArray

SAMPLE = 1 << 18
"""scores looked at; the standard deviation of so many is known to a fraction of a percent"""

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


def spread(bank: Bank) -> Spread:
    """Spread of the finite scores in evenly spaced rows of the bank; deterministic."""
    scores = sample(bank)
    scores = scores[np.isfinite(scores)]
    if scores.size == 0:
        return Spread(0.0, 0.0, 0.0)
    return Spread(float(scores.std(dtype=np.float64)), float(scores.min()), float(scores.max()))


def sample(bank: Bank) -> FloatArray:
    """Scores of evenly spaced rows, of every so many columns where the gallery is wide; flat.

    Each row begins with another column, since a gallery may well hold two kinds of items in turn.
    """
    rows, columns = bank.shape
    wanted = min(rows, max(SLICES, SAMPLE // max(1, columns)))
    step = max(1, wanted * columns // SAMPLE)
    seen = read_slices(bank, slices(rows, wanted))
    if step > 1:
        each_row = (row for block in seen for row in block)
        seen = [row[place % step :: step] for place, row in enumerate(each_row)]
    return np.concatenate([host(part).ravel() for part in seen])
