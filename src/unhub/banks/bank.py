"""The one abstraction that carries everything: a bank gives blocks of scores, bank rows x gallery."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unhub.core.arrays import is_numpy
from unhub.core.blocks import SLAB_ROWS, touched
from unhub.foundation.types import FloatArray


class Bank(Protocol):
    """A score matrix that is read a block of rows at a time, wherever its scores come from."""

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""

    @property
    def block_rows(self) -> int:
        """how many rows to read at once"""

    @property
    def slab_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""

    @property
    def home(self) -> Any:
        """an array of the library, and on the device, that the scores come in"""

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """Scores of the rows start..stop: (stop - start, gallery), float32 or float64.

        They may be written to ``out``, an array of that shape, and then belong to the caller; otherwise they are not
        to be changed.
        """


def blocks(bank: Bank) -> Iterator[tuple[int, FloatArray]]:
    """The first row and the scores of each block, in order; blocks may be kept."""
    rows = bank.shape[0]
    for start in range(0, rows, bank.block_rows):
        yield start, bank.read(start, min(start + bank.block_rows, rows))


def slabs(bank: Bank) -> Iterator[tuple[int, FloatArray]]:
    """As blocks, tall ones for kernels without temporaries; a slab lasts until the next one is asked for."""
    rows = bank.shape[0]
    height = min(rows, bank.slab_rows, max(SLAB_ROWS, rows // 8))
    scratch = touched((height, bank.shape[1]), np.float32) if is_numpy(bank.home) else None
    for start in range(0, rows, height):
        stop = min(start + height, rows)
        yield start, bank.read(start, stop, None if scratch is None else scratch[: stop - start])


DEFAULT_MEMORY = 2 << 30
"""bytes for a method that was given no bound"""


class Journal(Protocol):
    """Somebody who follows a method of many reads: told about rows, and keeping what is needed to go on later."""

    def advance(self, rows: int) -> None:
        """So many more bank rows were read."""

    def load(self) -> dict[str, FloatArray] | None:
        """What was saved last, or None."""

    def save(self, state: Callable[[], dict[str, FloatArray]], rounds: int) -> None:
        """A round is finished; ``state()`` is what is needed to go on from here."""


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
    memory: int = DEFAULT_MEMORY
    """bytes that a method may use to keep scores between its reads"""
    journal: Journal | None = None
