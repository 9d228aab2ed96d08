"""A few evenly spaced slices of a bank's rows, for quick looks at it; banks are often sorted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.banks.bank import Bank
from unhub.foundation.types import FloatArray, IntArray

SLICES = 16
"""places in the bank that a sample is taken from"""


@dataclass(frozen=True)
class Slices:
    """Slices of one height, by their first rows."""

    starts: IntArray
    height: int

    @property
    def rows(self) -> IntArray:
        """every row of the sample: (sample,)"""
        return (self.starts[:, None] + np.arange(self.height)).ravel()


def slices(rows: int, wanted: int) -> Slices:
    """About so many of the rows, in slices that do not overlap; all of them in one when there are no more."""
    if rows <= wanted:
        return Slices(np.zeros(1, dtype=np.int64), rows)
    number = min(SLICES, wanted)
    height = wanted // number
    return Slices(np.unique(np.linspace(0, rows - height, number).astype(np.int64)), height)


def read_slices(bank: Bank, taken: Slices) -> list[FloatArray]:
    """The scores of each slice, in blocks of the bank's own height at the most."""
    ends = [(start, start + taken.height) for start in taken.starts.tolist()]
    step = bank.block_rows
    return [bank.read(low, min(low + step, stop)) for start, stop in ends for low in range(start, stop, step)]
