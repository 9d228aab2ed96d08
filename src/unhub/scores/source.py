"""ScoreSource: a score matrix (bank rows x gallery) that is read a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from unhub.core.arrays import is_numpy, is_tensor, namespace
from unhub.core.execution import Execution, FitObserver
from unhub.core.plan import TALL_ROWS, prefault
from unhub.foundation.types import FloatArray, IntArray, Sliceable


class ScoreSource(Protocol):
    """A score matrix that is read a block of rows at a time, wherever its scores come from."""

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""

    @property
    def block_rows(self) -> int:
        """how many rows to read at once"""

    @property
    def tall_block_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""

    @property
    def array_like(self) -> Any:
        """an array of the library, and on the device, that the scores come in"""

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """Scores of the rows start..stop: (stop - start, gallery), float32 or float64.

        They may be written to ``out``, an array of that shape, and then belong to the caller; otherwise they are not
        to be changed.
        """


def blocks(source: ScoreSource) -> Iterator[tuple[int, FloatArray]]:
    """The first row and the scores of each block, in order; blocks may be kept."""
    rows = source.shape[0]
    for start in range(0, rows, source.block_rows):
        yield start, source.read(start, min(start + source.block_rows, rows))


def whole_matrix(source: ScoreSource) -> FloatArray:
    """All scores at once, float32."""
    return np.concatenate([np.asarray(rows, dtype=np.float32) for _, rows in blocks(source)])


def tall_blocks(source: ScoreSource, execution: Execution) -> Iterator[tuple[int, FloatArray]]:
    """As ``blocks``, tall ones for kernels without temporaries; a block lasts until the next one is asked for."""
    rows = source.shape[0]
    height = min(rows, source.tall_block_rows, execution.block_rows or max(TALL_ROWS, rows // 8))
    near = is_numpy(source.array_like)
    scratch = prefault((height, source.shape[1]), np.float32, execution.workers) if near else None
    for start in range(0, rows, height):
        stop = min(start + height, rows)
        yield start, source.read(start, stop, None if scratch is None else scratch[: stop - start])


@dataclass(frozen=True)
class MatrixScores:
    """Scores that exist already: a matrix (bank, gallery) in memory, memory-mapped, or a data set on disk."""

    scores: Sliceable
    block_rows: int
    tall_rows: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""
        rows, columns = self.scores.shape
        return rows, columns

    @property
    def tall_block_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""
        return self.tall_rows or self.block_rows

    @property
    def array_like(self) -> Any:
        """an array of the library that the scores come in"""
        return self.scores if is_tensor(self.scores) else np.empty(0)

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The stored scores; half precision and integers become float32, in ``out`` if there is one."""
        block: Any = self.scores[start:stop]
        if is_tensor(block):
            xp: Any = namespace(block)
        else:
            xp, block = np, np.asarray(block)
        if block.dtype not in (xp.float32, xp.float64):
            if xp is np and out is not None:
                np.copyto(out, block, casting="unsafe")
                return out
            block = xp.astype(block, xp.float32)
        scores: FloatArray = block
        return scores


@dataclass(frozen=True)
class Banks:
    """The scores and weights that a method estimates from.

    queries: query bank x gallery. cross: query bank x target bank. targets: target bank x gallery.
    query_weight: (bank,), target_prior: (gallery,), the marginals; None means uniform. A prior is relative: an average
    target has 1.
    """

    queries: ScoreSource
    cross: ScoreSource | None = None
    targets: ScoreSource | None = None
    query_weight: FloatArray | None = None
    target_prior: FloatArray | None = None
    execution: Execution = field(default_factory=Execution)
    """memory for scores between reads, threads, kernels, executor"""
    observer: FitObserver | None = None
    largest: float | None = None
    """the largest score of the query bank by size, where it was measured before"""
    held_out: tuple[IntArray, ...] = ()
    """bank rows that the bias is also estimated without, one estimate for each part"""

    def query_marginal(self) -> FloatArray:
        """a: (bank,) of sum one, from the query weights, or uniform."""
        m = self.queries.shape[0]
        return np.full(m, 1 / m) if self.query_weight is None else self.query_weight / self.query_weight.sum()

    def target_marginal(self, extra: int = 0) -> FloatArray:
        """b: (gallery + extra,) of sum one, from the prior, or uniform; ``extra`` bank targets weigh one each."""
        n = self.queries.shape[1]
        prior = np.ones(n) if self.target_prior is None else self.target_prior
        return np.concatenate((prior, np.ones(extra))) / (n + extra)

    def log_prior(self) -> FloatArray | float:
        """The logarithm of the target prior; zero where it is uniform."""
        return 0.0 if self.target_prior is None else np.log(self.target_prior)

    def row_potential(self, tau: float) -> FloatArray | None:
        """tau log(m a_u); None where every bank query counts the same."""
        if self.query_weight is None:
            return None
        potential: FloatArray = tau * np.log(self.query_marginal() * self.queries.shape[0])
        return potential
