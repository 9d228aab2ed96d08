"""Sinkhorn normalisation (SN)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unhub.banks import Bank, Banks, Journal, Passes, column_logsumexp
from unhub.core.arrays import host, like, wide
from unhub.core.bias import Bias, centred
from unhub.core.parameters import (
    Temperature,
    checked,
    optional_count,
    optional_positive,
    settled,
    strength_number,
    temperature,
)
from unhub.foundation.types import FloatArray
from unhub.methods.marginals import log_prior, query_marginal, target_marginal
from unhub.solvers.sinkhorn import Potentials, Round, sinkhorn

ITERATIONS = 10
"""T of Algorithm A1"""

MOST_ITERATIONS = 1000
"""rounds at the most when ``tol`` is given without ``iterations``"""


@dataclass(frozen=True)
class SN:
    """bias_j = tau log beta_j after T rounds of alpha = a / (xi beta), beta = b / (xi' alpha)   [pan:25, Alg. A1]

    xi = exp(S / tau), a and b uniform unless marginals are given. ``iterations`` is 10; with ``tol`` the rounds stop
    once the row-marginal error is at most tol (and go on to 1,000 unless ``iterations`` says otherwise). With float32
    scores the error does not fall below about 1e-6.
    """

    name: ClassVar[str] = "sn"
    needs: ClassVar[frozenset[str]] = frozenset()
    weighs: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})

    tau: Temperature = 0.01
    iterations: int | None = None
    tol: float | None = None
    strength: float = 1.0

    def __post_init__(self) -> None:
        checked(self, tau=temperature, iterations=optional_count, tol=optional_positive, strength=strength_number)

    def estimate(self, banks: Banks) -> Bias:
        """The bias, from one read of the bank where its kernel can be kept, otherwise from one for each round."""
        return solve(banks.queries, banks, settled(self.tau), self.iterations, self.tol)

    def columns(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """tau (log b - LSE_u(s_uj / tau + log alpha_u)) of any targets: the last half-step, exact."""
        return last_half_step(banks, settled(self.tau), potentials)


def solve(bank: Bank, banks: Banks, tau: float, iterations: int | None, tol: float | None) -> Bias:
    """The bias of the gallery from Sinkhorn potentials of the bank, whose first columns it is."""
    journal = banks.journal
    a = query_marginal(banks)
    passes = Passes(bank, tau, a, memory=banks.memory, journal=journal)

    def note(state: Round) -> None:
        if journal is not None:
            parts = {"f": state.f, "columns": state.columns} | passes.state()
            journal.save(lambda: {name: host(part) for name, part in parts.items()}, state.done)

    def run(start: Round | None) -> Potentials:
        return sinkhorn(
            passes.half_steps,
            passes.row_error,
            tau=tau,
            a=like(a, bank.home, wide(bank.home)),
            b=like(target_marginal(banks, extra=bank.shape[1] - gallery), bank.home, wide(bank.home)),
            iterations=iterations or (ITERATIONS if tol is None else MOST_ITERATIONS),
            tol=tol,
            start=start,
            finished=note,
        )

    gallery = banks.queries.shape[1]
    found = run(_resumed(journal, passes, bank))
    if passes.lost:
        passes.start_in_logs()
        found = run(None)
    bias = as_bias(found, tau, gallery=gallery)
    return replace(bias, error_bound=tau * float(passes.error), plan=str(passes.plan))


def _resumed(journal: Journal | None, passes: Passes, bank: Bank) -> Round | None:
    """The round that an earlier run finished, with its kernel made again."""
    state = None if journal is None else journal.load()
    if state is None:
        return None
    passes.restore(state)
    done = int(state["rounds"][0])
    return Round(done, like(state["f"], bank.home), like(state["columns"], bank.home))


def as_bias(found: Potentials, tau: float, *, gallery: int) -> Bias:
    """The bias of the first ``gallery`` columns, with the row potentials that extend it to unseen targets.

    The constant tau log n of a uniform target marginal moves into the potentials, where the last half-step finds it.
    """
    values, offset = centred(host(found.g[:gallery]).astype(np.float64))
    potentials = host(found.f).astype(np.float64) + tau * np.log(found.g.shape[0])
    return Bias(values, offset, found.status, found.iterations, found.marginal_error, potentials)


def last_half_step(banks: Banks, tau: float, potentials: FloatArray | None) -> FloatArray:
    """tau (log(n b_j) - LSE_u(s_uj / tau + log(n alpha_u))), from potentials that as_bias saved."""
    assert potentials is not None, "Sinkhorn methods save their potentials"
    return tau * log_prior(banks) - column_logsumexp(banks.queries, tau, potentials)
