"""Whether a correction and a collection are of the same items."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import IntArray
from unhub.serving.biases import Biases
from unhub.stores import Block

SHOWN = 3


@dataclass
class Comparison:
    """Counts what is new, gone and changed while blocks of a collection go by."""

    biases: Biases
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    seen: int = 0
    _known: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self._known = np.zeros(len(self.biases), dtype=bool)

    def look(self, block: Block) -> tuple[IntArray, IntArray]:
        """The row of each item (-1 if it is new), and the places of those that are new or changed."""
        rows = self.biases.rows(block.ids)
        changed = self.biases.changed(rows, block.vectors)
        self.new.extend(block.ids[at] for at in np.flatnonzero(rows < 0).tolist())
        self.changed.extend(block.ids[at] for at in np.flatnonzero(changed).tolist())
        self._known[rows[rows >= 0]] = True
        self.seen += len(block)
        return rows, np.flatnonzero((rows < 0) | changed)

    @property
    def gone(self) -> IntArray:
        """Rows of the correction whose items did not come by."""
        return np.flatnonzero(~self._known)

    def refuse(self, url: str, *, allow_missing: bool) -> None:
        """An error with the counts unless every item is there, the same, and known."""
        missing = [] if allow_missing else self.new
        if not (missing or self.changed or self.gone.size):
            return
        counts = (
            (len(missing), f"of its {self.seen:,} items are not in the correction{_some(missing)}"),
            (len(self.changed), f"have another vector than was fitted{_some(self.changed)}"),
            (self.gone.size, f"of the correction's {len(self.biases):,} are no longer there"),
        )
        parts = ", ".join(f"{number:,} {words}" for number, words in counts if number)
        raise InputError(
            f"the correction does not fit {url}: {parts}; bring it up to date with unhub extend --store, or fit again."
        )


def _some(ids: list[str]) -> str:
    return f" (first: {', '.join(ids[:SHOWN])})"
