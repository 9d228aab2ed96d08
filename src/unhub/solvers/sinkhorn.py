"""Sinkhorn's alternation, in the log domain, one read of the scores for each round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unhub.core.bias import Status
from unhub.foundation.types import FloatArray


@dataclass(frozen=True)
class Potentials:
    """f = tau log alpha (bank,), g = tau log beta (gallery,), and how the loop ended."""

    f: FloatArray
    g: FloatArray
    status: Status
    iterations: int
    marginal_error: float


def sinkhorn(
    half_steps: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    row_sums: Callable[[FloatArray], FloatArray],
    *,
    tau: float,
    a: FloatArray,
    b: FloatArray,
    iterations: int,
    tol: float | None = None,
) -> Potentials:
    """Potentials after ``iterations`` rounds, or earlier once the row-marginal error is at most ``tol``.

    Query side first, target side last   [pan:25, Alg. A1]:

        alpha = a / (xi beta),   beta = b / (xi' alpha),   beta_0 = 1,   xi = exp(S / tau)

    half_steps(g): f and tau log(xi' alpha), from one read of the scores.
    row_sums(g): tau log(xi beta). a: (bank,), b: (gallery,), each of sum one.
    """
    prior = tau * np.log(b)
    g = np.zeros(b.shape[0])
    f, columns = half_steps(g)
    for done in range(1, iterations):
        g = prior - columns
        f_next, columns = half_steps(g)
        error = _row_error(f, f_next, tau, a)
        if tol is not None and error <= tol:
            return Potentials(f, g, "converged", done, error)
        f = f_next
    g = prior - columns
    error = _row_error(f, tau * np.log(a) - row_sums(g), tau, a)
    status: Status = "converged" if tol is not None and error <= tol else "iterations reached"
    return Potentials(f, g, status, iterations, error)


def _row_error(f: FloatArray, f_exact: FloatArray, tau: float, a: FloatArray) -> float:
    """sum_u |row sum of the plan - a_u|: rows are exact at f_exact, so a row sums to a exp((f - f_exact)/tau)."""
    return float(a @ np.abs(np.expm1((f - f_exact) / tau)))
