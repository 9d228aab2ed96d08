"""Single-query Sinkhorn: each test query joined to the bank on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unhub.core.logsumexp import ColumnSums, row_logsumexp
from unhub.core.parameters import Temperature, as_number, optional_count, temperature, validate
from unhub.foundation.types import FloatArray
from unhub.methods.interface import CorrectRows, OneTemperature
from unhub.scores import Banks, ScoreSource, blocks
from unhub.solvers.sinkhorn import most_rounds, sinkhorn

WIDEST = 300.0
"""score range over tau up to which exp stays well inside float64 and the queries of a block share matrix products"""


@dataclass(frozen=True)
class SingleSinkhorn(OneTemperature):
    """s_ij + tau log beta_j, Sinkhorn on the bank with the one row of query i added   [yakovlev:23]

    Every query has its own potentials, so this is not a bias; it costs one Sinkhorn run per query.
    """

    name: ClassVar[str] = "single_sinkhorn"
    title: ClassVar[str] = "single-step Sinkhorn"
    description: ClassVar[str] = "SN with each test query joined to the bank on its own; one run for each query."
    iterative: ClassVar[bool] = True
    live: ClassVar[bool] = False
    constants: ClassVar[Mapping[str, Any]] = {"tau": 0.01, "iterations": 10}

    tau: Temperature = "auto"
    iterations: int | None = None

    def __post_init__(self) -> None:
        validate(self, tau=temperature, iterations=optional_count)

    @property
    def rounds(self) -> int:
        """How many rounds each query takes."""
        return most_rounds(self.iterations)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows corrected by the potentials that their own query shapes."""
        tau, rounds = as_number(self.tau), self.rounds

        def correct(scores: FloatArray) -> FloatArray:
            low, high = _range(banks.queries, scores)
            if high - low > WIDEST * tau:
                return np.stack([one_by_one(banks.queries, row, tau, rounds) for row in scores])
            return together(banks.queries, scores.astype(np.float64), tau, rounds)

        return correct


def together(bank: ScoreSource, scores: FloatArray, tau: float, rounds: int) -> FloatArray:
    """All queries at once: their scalings are rows of one matrix, and each half-step is a matrix product."""
    own = np.exp((scores - scores.max(axis=1, keepdims=True)) / tau)

    def half_steps(g: FloatArray) -> tuple[None, FloatArray]:
        beta = np.exp(g / tau)
        mass = own / (own * beta).sum(axis=1, keepdims=True)
        for _, block in blocks(bank):
            xi = np.exp((block - block.max(axis=1, keepdims=True)).astype(np.float64) / tau)
            mass += (1.0 / (beta @ xi.T)) @ xi
        return None, tau * np.log(mass / (bank.shape[0] + 1))

    return scores + _column_potentials(half_steps, scores, tau, rounds)


def one_by_one(bank: ScoreSource, row: FloatArray, tau: float, rounds: int) -> FloatArray:
    """One query in the log domain, finite for any tau."""

    def half_steps(g: FloatArray) -> tuple[None, FloatArray]:
        sums = ColumnSums(bank.shape[1], tau)
        for block in (row[None], *(block for _, block in blocks(bank))):
            scores = block.astype(np.float64)
            sums.add(scores, -row_logsumexp(scores, tau, g))
        return None, sums.total() - tau * np.log(bank.shape[0] + 1)

    return row + _column_potentials(half_steps, row, tau, rounds)


def _column_potentials(half_steps: Any, like: FloatArray, tau: float, rounds: int) -> FloatArray:
    """g after so many rounds, with uniform marginals; the row error is not measured."""
    b = np.full(like.shape, 1 / like.shape[-1])
    g: FloatArray = sinkhorn(half_steps, lambda f, g: 0.0, tau=tau, a=None, b=b, iterations=rounds).g
    return g


def _range(bank: ScoreSource, scores: FloatArray) -> tuple[float, float]:
    ends = [(scores.min(), scores.max())] + [(block.min(), block.max()) for _, block in blocks(bank)]
    return float(min(low for low, _ in ends)), float(max(high for _, high in ends))
