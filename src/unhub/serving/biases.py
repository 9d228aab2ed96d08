"""The bias of a store's items, looked up by id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unhub.api.correction import Correction
from unhub.foundation.types import BoolArray, FloatArray, IntArray


class Biases:
    """What a correction knows of each id: its row, and through it bias and digest. Ids are strings."""

    def __init__(self, correction: Correction) -> None:
        self.correction = correction
        ids: Iterable[str] = correction.ids or map(str, range(correction.bias.size))
        self.row = {each: row for row, each in enumerate(ids)}

    def __len__(self) -> int:
        return len(self.row)

    def rows(self, ids: Sequence[Any]) -> IntArray:
        """(item,): the row of each id, -1 where the correction does not know it."""
        row = self.row
        return np.fromiter((row.get(each, -1) for each in ids), dtype=np.int64, count=len(ids))

    def of_rows(self, rows: IntArray) -> FloatArray:
        """The bias of each row; 0 where it is -1."""
        found: FloatArray = np.where(rows >= 0, self.correction.bias[rows], np.float32(0))
        return found

    def changed(self, rows: IntArray, vectors: FloatArray) -> BoolArray:
        """(item,): whether a known item's vector is another than the one that was fitted."""
        different = np.zeros(len(rows), dtype=bool)
        known = np.flatnonzero(rows >= 0)
        if known.size:
            different[known] = self.correction.changed(rows[known], vectors[known])
        return different
