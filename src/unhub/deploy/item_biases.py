"""The bias of a store's items by id, and whether a collection still holds the items that were fitted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhub.api.correction import Correction
from unhub.api.fitted_vectors import changed_vectors
from unhub.foundation.errors import InputError
from unhub.foundation.types import BoolArray, FloatArray, IntArray
from unhub.stores import Block

SHOWN = 3
UP_TO_DATE = "bring it up to date (unhub.refresh in Python, unhub extend on the command line)"


class Biases:
    """The row of each id in a correction, and through it bias and digest. Ids are strings."""

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
        bias: FloatArray = np.where(rows >= 0, self.correction.served_bias[rows], np.float32(0))
        return bias

    def changed(self, rows: IntArray, vectors: FloatArray) -> BoolArray:
        """(item,): whether a known item's vector differs from the one that was fitted."""
        different = np.zeros(len(rows), dtype=bool)
        known = np.flatnonzero(rows >= 0)
        if known.size:
            different[known] = changed_vectors(self.correction, rows[known], vectors[known])
        return different


@dataclass
class Comparison:
    """Counts what is new, gone and changed in the blocks of a collection."""

    biases: Biases
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    seen: int = 0
    _known: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self._known = np.zeros(len(self.biases), dtype=bool)

    def look(self, block: Block) -> tuple[IntArray, IntArray]:
        """The row of each item (-1 if it is new), and the positions of the new and changed ones."""
        rows = self.biases.rows(block.ids)
        changed = self.biases.changed(rows, block.vectors)
        self.new.extend(block.ids[at] for at in np.flatnonzero(rows < 0).tolist())
        self.changed.extend(block.ids[at] for at in np.flatnonzero(changed).tolist())
        self._known[rows[rows >= 0]] = True
        self.seen += len(block)
        return rows, np.flatnonzero((rows < 0) | changed)

    @property
    def gone(self) -> IntArray:
        """Rows of the correction whose items were not in any block."""
        return np.flatnonzero(~self._known)

    def refuse(self, url: str, *, allow_missing: bool) -> None:
        """An error with the counts unless every item is known, unchanged, and still there."""
        missing = [] if allow_missing else self.new
        if not (missing or self.changed or self.gone.size):
            return
        new, changed = ", ".join(missing[:SHOWN]), ", ".join(self.changed[:SHOWN])
        counts = (
            (len(missing), f"of its {self.seen:,} items are not in the correction (first: {new})"),
            (len(self.changed), f"have another vector than was fitted (first: {changed})"),
            (self.gone.size, f"of the correction's {len(self.biases):,} are no longer there"),
        )
        parts = ", ".join(f"{number:,} {words}" for number, words in counts if number)
        raise InputError(f"the correction does not fit {url}: {parts}; {UP_TO_DATE}, or fit again.")
