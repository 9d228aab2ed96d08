"""A bank in which item u must not speak for target u: self-retrieval, where both sides are one set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.banks.bank import Bank
from unhub.foundation.types import FloatArray


@dataclass(frozen=True)
class MaskedBank:
    """Another bank's scores with minus infinity where row and column are the same item."""

    bank: Bank

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""
        return self.bank.shape

    @property
    def block_rows(self) -> int:
        """how many rows to read at once"""
        return self.bank.block_rows

    def read(self, start: int, stop: int) -> FloatArray:
        """A copy of the scores, its self-pairs masked."""
        return mask_self(self.bank.read(start, stop), start)


def mask_self(scores: FloatArray, start: int) -> FloatArray:
    """A copy of the rows start.. with minus infinity at (i, i)."""
    masked = scores.copy()
    rows = np.arange(min(masked.shape[0], max(0, masked.shape[1] - start)))
    masked[rows, rows + start] = -np.inf
    return masked
