"""The one abstraction that carries everything: a bank gives blocks of scores, bank rows x gallery."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from unhub.foundation.types import FloatArray


class Bank(Protocol):
    """A score matrix that is read a block of rows at a time, wherever its scores come from."""

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""

    @property
    def block_rows(self) -> int:
        """how many rows to read at once"""

    def read(self, start: int, stop: int) -> FloatArray:
        """Scores of the rows start..stop: (stop - start, gallery), float32 or float64; not to be changed."""


def blocks(bank: Bank) -> Iterator[tuple[int, FloatArray]]:
    """The first row and the scores of each block, in order."""
    rows = bank.shape[0]
    for start in range(0, rows, bank.block_rows):
        yield start, bank.read(start, min(start + bank.block_rows, rows))


@dataclass(frozen=True)
class Banks:
    """What a method may learn from.

    queries: query bank x gallery. cross: query bank x target bank. targets: target bank x gallery.
    query_weight and target_prior are the marginals; None means uniform. A prior is relative: an average target of the
    gallery has one.
    """

    queries: Bank
    cross: Bank | None = None
    targets: Bank | None = None
    query_weight: FloatArray | None = None
    target_prior: FloatArray | None = None
