"""Single-query Sinkhorn: each test query joined to the bank on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.banks import Bank, Banks, blocks
from unhub.core.logsumexp import ColumnSums, row_logsumexp
from unhub.core.parameters import Temperature, checked, optional_count, settled, temperature
from unhub.foundation.types import FloatArray
from unhub.methods.protocol import CorrectRows
from unhub.methods.sn import ITERATIONS

WIDEST = 300.0
"""score range over tau up to which exp stays well inside float64 and the queries of a block share matrix products"""


@dataclass(frozen=True)
class SingleSinkhorn:
    """s_ij + tau log beta_j, Sinkhorn on the bank with the one row of query i added   [yakovlev:23]

    Every query has potentials of its own, so this is no bias; it costs one Sinkhorn run per query.
    """

    name: ClassVar[str] = "single_sinkhorn"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset()

    tau: Temperature = 0.01
    iterations: int | None = None

    def __post_init__(self) -> None:
        checked(self, tau=temperature, iterations=optional_count)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows corrected by the potentials that their own query shapes."""
        tau, rounds = settled(self.tau), self.iterations or ITERATIONS

        def correct(scores: FloatArray) -> FloatArray:
            low, high = _range(banks.queries, scores)
            if high - low > WIDEST * tau:
                return np.stack([one_by_one(banks.queries, row, tau, rounds) for row in scores])
            return together(banks.queries, scores.astype(np.float64), tau, rounds)

        return correct


def together(bank: Bank, scores: FloatArray, tau: float, rounds: int) -> FloatArray:
    """All queries at once: their scalings are columns of one matrix, and each half-step is a matrix product."""
    m, n = bank.shape
    own = np.exp((scores - scores.max(axis=1, keepdims=True)) / tau)
    beta = np.ones_like(scores)
    for _ in range(rounds):
        columns = own / (own * beta).sum(axis=1, keepdims=True)
        for _, block in blocks(bank):
            xi = np.exp((block - block.max(axis=1, keepdims=True)).astype(np.float64) / tau)
            columns += (1.0 / (beta @ xi.T)) @ xi
        beta = (m + 1) / (n * columns)
    return scores + tau * np.log(beta)


def one_by_one(bank: Bank, row: FloatArray, tau: float, rounds: int) -> FloatArray:
    """One query in the log domain, finite for any tau."""
    m, n = bank.shape
    g = np.zeros(n)
    for _ in range(rounds):
        sums = ColumnSums(n, tau)
        for block in (row[None], *(block for _, block in blocks(bank))):
            scores = block.astype(np.float64)
            sums.add(scores, -row_logsumexp(scores, tau, g))
        columns = sums.total() - tau * np.log(m + 1)
        g = -tau * np.log(n) - columns
    return row + g


def _range(bank: Bank, scores: FloatArray) -> tuple[float, float]:
    """Smallest and largest score of the queries and the bank."""
    ends = [(scores.min(), scores.max())] + [(block.min(), block.max()) for _, block in blocks(bank)]
    return float(min(low for low, _ in ends)), float(max(high for _, high in ends))
