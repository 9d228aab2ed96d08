"""Sinkhorn's alternation, in the log domain, one read of the scores for each round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unhub.core.arrays import namespace
from unhub.core.bias import Status


@dataclass(frozen=True)
class Round:
    """Where the alternation stands after so many rounds: f (bank,) and tau log(xi' alpha) (gallery,)."""

    done: int
    f: Any
    columns: Any


@dataclass(frozen=True)
class Potentials:
    """f = tau log alpha (bank,), g = tau log beta (gallery,), and how the loop ended."""

    f: Any
    g: Any
    status: Status
    iterations: int
    marginal_error: float


def sinkhorn(
    half_steps: Callable[[Any], tuple[Any, Any]],
    row_error: Callable[[Any, Any], float],
    *,
    tau: float,
    a: Any,
    b: Any,
    iterations: int,
    tol: float | None = None,
    start: Round | None = None,
    finished: Callable[[Round], None] = lambda state: None,
) -> Potentials:
    """Potentials after ``iterations`` rounds, or earlier once the row-marginal error is at most ``tol``.

    Query side first, target side last   [pan:25, Alg. A1]:

        alpha = a / (xi beta),   beta = b / (xi' alpha),   beta_0 = 1,   xi = exp(S / tau)

    half_steps(g): f and tau log(xi' alpha), from one read of the scores.
    row_error(f, g): sum_u |row sum of the plan - a_u|. a: (bank,), b: (gallery,), each of sum one.
    start: a round to go on from, that an earlier run was told to be ``finished``.

    Nothing in the loop asks for a value unless ``tol`` does, so that a device is never held up.
    """
    prior = tau * namespace(b).log(b)
    state = start
    if state is None:
        state = Round(1, *half_steps(namespace(b).zeros_like(b)))
        finished(state)
    for done in range(state.done, iterations):
        g = prior - state.columns
        following = Round(done + 1, *half_steps(g))
        if tol is not None:
            error = float(_row_error(state.f, following.f, tau, a))
            if error <= tol:
                return Potentials(state.f, g, "converged", done, error)
        state = following
        finished(state)
    g = prior - state.columns
    error = row_error(state.f, g)
    status: Status = "converged" if tol is not None and error <= tol else "iterations reached"
    return Potentials(state.f, g, status, iterations, error)


def _row_error(f: Any, f_exact: Any, tau: float, a: Any) -> Any:
    """sum_u |row sum of the plan - a_u|: rows are exact at f_exact, so a row sums to a exp((f - f_exact)/tau)."""
    return a @ abs(namespace(f).expm1((f - f_exact) / tau))
