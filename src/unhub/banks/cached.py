"""A bank that remembers its blocks, as many as memory allows, so that scores are computed once."""

from __future__ import annotations

from dataclasses import dataclass, field

from unhub.banks.bank import Bank
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


@dataclass(frozen=True)
class CachedBank:
    """Another bank's blocks, kept after the first read while the budget lasts; the rest is read again."""

    bank: Bank
    budget: Budget
    _kept: dict[int, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""
        return self.bank.shape

    @property
    def block_rows(self) -> int:
        """how many rows to read at once"""
        return self.bank.block_rows

    def read(self, start: int, stop: int) -> FloatArray:
        """The scores of the rows start..stop, from memory where they are."""
        kept = self._kept.get(start)
        if kept is not None and kept.shape[0] >= stop - start:
            return kept[: stop - start]
        block = self.bank.read(start, stop)
        on_grid = start % self.block_rows == 0 and stop == min(start + self.block_rows, self.shape[0])
        if on_grid and self.budget.take(block.nbytes):
            self._kept[start] = block
        return block
