"""A bank that tells how far reading has come, for progress bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unhub.banks.bank import Bank
from unhub.foundation.types import FloatArray


@dataclass(frozen=True)
class WatchedBank:
    """Another bank; after each read it calls ``advance`` with the number of rows."""

    bank: Bank
    advance: Callable[[float], None]

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
        """The other bank's scores."""
        block = self.bank.read(start, stop, out)
        self.advance(stop - start)
        return block
