"""Some columns of a bank as a bank of their own, for folds that hold much for every column."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unhub.banks.bank import Bank
from unhub.banks.embedding import EmbeddingBank
from unhub.banks.watched import WatchedBank
from unhub.banks.wrapped import Wrapped
from unhub.foundation.types import FloatArray


def columns(bank: Bank, left: int, right: int) -> Bank:
    """The targets left..right of a bank; of embeddings no other score is computed."""
    if (left, right) == (0, bank.shape[1]):
        return bank
    if isinstance(bank, WatchedBank):
        part = (right - left) / bank.shape[1]
        return WatchedBank(columns(bank.bank, left, right), lambda rows: bank.advance(rows * part))
    if isinstance(bank, EmbeddingBank):
        taller = bank.slab_rows * bank.shape[1] // (right - left)
        return replace(bank, targets=bank.targets[left:right], tall_rows=taller)
    return SlicedBank(bank, left, right)


@dataclass(frozen=True)
class SlicedBank(Wrapped):
    """The columns left..right of another bank, whose rows are read whole."""

    bank: Bank
    left: int
    right: int

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, columns)"""
        return self.bank.shape[0], self.right - self.left

    @property
    def slab_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""
        return self.bank.block_rows

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The part of the rows start..stop, one row after the other in memory."""
        part = self.bank.read(start, stop)[:, self.left : self.right]
        return np.ascontiguousarray(part) if isinstance(part, np.ndarray) else part
