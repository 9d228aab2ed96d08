"""A bank in which item u must not speak for target u: self-retrieval, where both sides are one set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.banks.bank import Bank
from unhub.banks.wrapped import Wrapped
from unhub.core.arrays import like, namespace
from unhub.foundation.types import FloatArray


@dataclass(frozen=True)
class MaskedBank(Wrapped):
    """Another bank's scores with minus infinity where row and column are the same item."""

    bank: Bank

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
