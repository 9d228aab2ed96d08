"""A bank that remembers its first rows, as many as memory allows, so that their scores are computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unhub.banks.bank import Bank
from unhub.banks.wrapped import Wrapped
from unhub.foundation.types import FloatArray


@dataclass
class Budget:
    """Bytes that the caches of one problem may keep between them."""

    left: int

    def take(self, size: int) -> bool:
        """Whether so many bytes were left; they are then taken."""
        if size > self.left:
            return False
        self.left -= size
        return True


@dataclass
class CachedBank(Wrapped):
    """Another bank's scores, kept while they are read in order and the budget lasts; the rest is read again."""

    bank: Bank
    budget: Budget
    _filled: int = 0

    @cached_property
    def _kept(self) -> FloatArray:
        """Room for the rows that the budget holds when the first of them comes."""
        rows, columns = self.shape
        height = min(rows, self.budget.left // max(1, 4 * columns))
        self.budget.take(4 * columns * height)
        return np.empty((height, columns), dtype=np.float32)

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The scores of the rows start..stop, from memory where they are."""
        if stop <= self._filled:
            return self._kept[start:stop]
        if start > self._filled or stop > len(self._kept):
            return self.bank.read(start, stop, out)
        place = self._kept[self._filled : stop]
        block = self.bank.read(self._filled, stop, place)
        if block is not place:
            place[...] = block
        self._filled = stop
        return self._kept[start:stop]
