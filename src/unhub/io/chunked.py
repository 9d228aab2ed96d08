"""A matrix that is stored in chunks of rows and decoded one chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unhub.foundation.types import AnyArray


class ChunkedRows:
    """Rows behind ``load(chunk)``, which gives (rows of the chunk, dim); the last chunk is kept.

    Blocks are asked for in order, so that one kept chunk decodes each only once in a pass. Threads may share it if
    they may call ``load`` at once: each goes on with the chunk it has in hand when another one is kept.
    """

    def __init__(
        self, lengths: Sequence[int], dim: int, dtype: np.dtype[Any], load: Callable[[int, int], AnyArray]
    ) -> None:
        self._starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        self._load = load
        self._kept: tuple[int, AnyArray] | None = None
        self.shape = (int(self._starts[-1]), dim)
        self.dtype = dtype

    def __getitem__(self, rows: slice) -> AnyArray:
        start, stop, _ = rows.indices(self.shape[0])
        first, last = np.searchsorted(self._starts, [start, stop - 1], side="right") - 1
        if start >= stop:
            return np.empty((0, self.shape[1]), self.dtype)
        if first == last:
            return self._slice(int(first), start, stop)
        out = np.empty((stop - start, self.shape[1]), self.dtype)
        for chunk in range(int(first), int(last) + 1):
            low, high = max(start, self._starts[chunk]), min(stop, self._starts[chunk + 1])
            out[low - start : high - start] = self._slice(chunk, low, high)
        return out

    def _slice(self, chunk: int, start: int, stop: int) -> AnyArray:
        offset = int(self._starts[chunk])
        kept = self._kept
        if kept is None or kept[0] != chunk:
            kept = self._kept = (chunk, self._load(chunk, offset))
        return kept[1][start - offset : stop - offset]
