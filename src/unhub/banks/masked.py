"""A bank in which item u must not speak for target u: self-retrieval, where both sides are one set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.banks.bank import Bank
from unhub.core.arrays import like, namespace
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

    @property
    def slab_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""
        return self.bank.slab_rows

    @property
    def home(self) -> Any:
        """an array of the library that the scores come in"""
        return self.bank.home

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """A copy of the scores, its self-pairs masked."""
        return mask_self(self.bank.read(start, stop), start)


def mask_self(scores: FloatArray, start: int) -> FloatArray:
    """A copy of the rows start.. with minus infinity at (i, i)."""
    xp = namespace(scores)
    masked: FloatArray = xp.asarray(scores, copy=True)
    rows = like(np.arange(min(masked.shape[0], max(0, masked.shape[1] - start))), scores)
    masked[rows, rows + start] = -np.inf
    return masked
