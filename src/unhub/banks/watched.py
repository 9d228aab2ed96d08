"""A bank that tells how far reading has come, for progress bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unhub.banks.bank import Bank
from unhub.foundation.types import FloatArray


@dataclass(frozen=True)
class WatchedBank:
    """Another bank; after each read it calls ``advance`` with the number of rows."""

    bank: Bank
    advance: Callable[[int], None]

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""
        return self.bank.shape

    @property
    def block_rows(self) -> int:
        """how many rows to read at once"""
        return self.bank.block_rows

    def read(self, start: int, stop: int) -> FloatArray:
        """The other bank's scores."""
        block = self.bank.read(start, stop)
        self.advance(stop - start)
        return block
