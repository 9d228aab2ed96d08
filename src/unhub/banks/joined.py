"""Two banks with the same rows, side by side: the gallery and then the target bank, as DBSN wants them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.banks.bank import Bank
from unhub.foundation.types import FloatArray


@dataclass(frozen=True)
class JoinedBank:
    """[left, right]: (bank, gallery + target bank)."""

    left: Bank
    right: Bank

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, columns of both)"""
        return self.left.shape[0], self.left.shape[1] + self.right.shape[1]

    @property
    def block_rows(self) -> int:
        """how many rows to read at once"""
        return min(self.left.block_rows, self.right.block_rows)

    def read(self, start: int, stop: int) -> FloatArray:
        """Both blocks in one array."""
        return np.concatenate((self.left.read(start, stop), self.right.read(start, stop)), axis=1)
