"""Two banks with the same rows, side by side: the gallery and then the target bank, as DBSN wants them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.banks.bank import Bank
from unhub.core.arrays import is_numpy, like, namespace
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

    @property
    def slab_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""
        return min(self.left.slab_rows, self.right.slab_rows)

    @property
    def home(self) -> Any:
        """an array of the library that the scores come in"""
        return self.left.home

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """Both blocks in one array."""
        if out is None or not is_numpy(self.home) or not is_numpy(self.right.home):
            parts = [like(bank.read(start, stop), self.home) for bank in (self.left, self.right)]
            both: FloatArray = (np.concatenate if is_numpy(self.home) else namespace(self.home).concat)(parts, axis=1)
            return both
        width = self.left.shape[1]
        for bank, place in ((self.left, out[:, :width]), (self.right, out[:, width:])):
            block = bank.read(start, stop, place)
            if block is not place:
                if not np.can_cast(block.dtype, out.dtype):
                    return self.read(start, stop)
                place[...] = block
        return out
