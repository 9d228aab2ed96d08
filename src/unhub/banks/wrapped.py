"""What a bank that stands before another one has from it."""

from __future__ import annotations

from typing import Any

from unhub.banks.bank import Bank


class Wrapped:
    """The shape, the heights and the home of another bank, for those that only read differently."""

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
