"""A whole test set and its banks, before anything is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unhub.analysis.samples import BANK_CELLS, MOST_TARGETS, TEST_CELLS
from unhub.core.bias import Bias
from unhub.dataset import Items
from unhub.foundation.types import FloatArray
from unhub.methods import Method
from unhub.metrics import Relevance


@dataclass(frozen=True, eq=False)
class GivenBank:
    """A whole bank: its embeddings, or its matrices; neither for the test queries as the bank."""

    name: str
    queries: FloatArray | None = None
    targets: FloatArray | None = None
    scores: FloatArray | None = None
    cross: FloatArray | None = None
    target_scores: FloatArray | None = None
    names: Sequence[str] | None = None
    shared: int = 0
    weight: FloatArray | None = None
    """of each of its queries, where they do not count the same"""

    @property
    def target_count(self) -> int:
        """How many targets it has."""
        if self.targets is not None:
            return len(self.targets)
        return 0 if self.cross is None else self.cross.shape[1]

    @property
    def size(self) -> int:
        """How many queries it has."""
        own = self.queries if self.scores is None else self.scores
        return 0 if own is None else len(own)


@dataclass(frozen=True, eq=False)
class Given:
    """A whole test set in one direction: unit embeddings of both sides, or a matrix of scores."""

    direction: str
    queries: FloatArray | None
    targets: FloatArray | None
    scores: FloatArray | None
    relevance: Relevance
    judged: bool
    sides: tuple[Items, Items]
    ids: tuple[Sequence[str], Sequence[str]]
    banks: Sequence[GivenBank]
    method: Callable[[str, bool], Method]
    noun: str = "targets"
    ties: str = "average"
    ignore_self: bool = False
    seed: int = 0
    notes: tuple[str, ...] = ()
    bias: Bias | None = None
    fitted_on: str | None = None
    media_folder: Path | None = None
    cells: tuple[int, int] = (TEST_CELLS, BANK_CELLS)
    most_targets: int = MOST_TARGETS
    scaled: bool = True
    """whether vectors have length one"""


def no_relevance(queries: int, gallery: int) -> Relevance:
    """Nothing is known to be right."""
    return Relevance.from_sets([()] * queries, gallery, allow_empty=True)


def unit(rows: FloatArray) -> FloatArray:
    """The rows at length one, float32."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
