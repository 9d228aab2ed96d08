"""A bank that tells how far reading has come, for progress bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unhub.banks.bank import Bank
from unhub.banks.wrapped import Wrapped
from unhub.foundation.types import FloatArray


@dataclass(frozen=True)
class WatchedBank(Wrapped):
    """Another bank; after each read it calls ``advance`` with the number of rows."""

    bank: Bank
    advance: Callable[[float], None]

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The other bank's scores."""
        block = self.bank.read(start, stop, out)
        self.advance(stop - start)
        return block
