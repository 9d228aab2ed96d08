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
        """The scores with their self-pairs masked, in ``out`` if they came there, else in a copy."""
        scores = self.bank.read(start, stop, out)
        return mask_self(scores, start, in_place=scores is out)


def mask_self(scores: FloatArray, start: int, *, in_place: bool = False) -> FloatArray:
    """The rows start.. with minus infinity at (i, i), a copy unless they may be written to."""
    masked: FloatArray = scores if in_place else namespace(scores).asarray(scores, copy=True)
    rows = like(np.arange(min(masked.shape[0], max(0, masked.shape[1] - start))), scores)
    masked[rows, rows + start] = -np.inf
    return masked
