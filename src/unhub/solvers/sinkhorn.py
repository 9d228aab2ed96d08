"""Sinkhorn's alternation, in the log domain, one read of the scores for each round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from unhub.core.arrays import host, like, namespace, wide
from unhub.core.bias import Bias, Status, centred
from unhub.core.execution import FitObserver
from unhub.foundation.types import FloatArray, IntArray

ITERATIONS = 10
"""T of Algorithm A1"""

ENOUGH_ROWS, HELD_OUT_ROUNDS = 4096, 3
"""bank rows from which few rounds, from the potentials of the whole bank, may find those without a part of it"""
SETTLED = 0.03
"""temperatures by which the last of those rounds may move the potentials; otherwise all rounds are done, from nothing:
at a small temperature the rounds forget too slowly what the whole bank had of the rows that are left out"""

MOST_ITERATIONS = 1000
"""rounds, at most, when ``tol`` is given without ``iterations``"""


def most_rounds(iterations: int | None, tol: float | None = None) -> int:
    """The number of rounds: as given, or 10, or at most 1,000 where a tolerance ends them."""
    return iterations or (ITERATIONS if tol is None else MOST_ITERATIONS)


class Operator(Protocol):
    """What the alternation reads the scores with, and its bound on the loss."""

    plan: Any
    error: Any

    @property
    def array_like(self) -> Any:
        """an array of the library, and on the device, that potentials are to be in"""

    @property
    def lost(self) -> bool:
        """whether a device lost too much, which is known only at the end"""

    def half_steps(self, g: Any) -> tuple[Any, Any]:
        """f and tau log(xi' alpha), from one read of the scores."""

    def row_error(self, f: Any, g: Any) -> float:
        """sum_u |row sum of the plan - a_u|"""

    def columns_without(self, g: Any, part_of: IntArray) -> Any:
        """tau log(xi' alpha) without the rows of each part, up to a constant: (columns, parts), from one read."""

    def start_in_logs(self) -> None:
        """Prepares a fresh start in the log domain."""

    def state(self) -> dict[str, Any]:
        """What a later run needs to resume."""

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Resumes from ``state``."""

    def close(self) -> None:
        """Releases what it holds."""


@dataclass(frozen=True)
class Round:
    """The state after so many rounds: f (bank,) and tau log(xi' alpha) (gallery,)."""

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
    start: a round to resume from. finished: called with each finished round.

    Nothing in the loop asks for a value unless ``tol`` is given, so that a device never waits.
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


def solve(
    operator: Operator,
    *,
    tau: float,
    a: FloatArray,
    b: FloatArray,
    gallery: int,
    iterations: int | None = None,
    tol: float | None = None,
    observer: FitObserver | None = None,
    held_out: Sequence[IntArray] = (),
) -> Bias:
    """The bias of the first ``gallery`` columns from Sinkhorn potentials; resumes from the observer's last round.

    a: (bank,) and b: (columns,), each of sum one. iterations: 10, or with ``tol`` up to 1,000 until it is reached.
    held_out: bank rows that the bias is also estimated without, no row in two parts; all parts share each read.
    """
    home = operator.array_like
    marginals = {"a": like(a, home, wide(home)), "b": like(b, home, wide(home))}

    def note(state: Round) -> None:
        if observer is not None:
            parts = {"f": state.f, "columns": state.columns} | operator.state()
            observer.save(lambda: {name: host(part) for name, part in parts.items()}, state.done)

    def run(start: Round | None) -> Potentials:
        rounds = most_rounds(iterations, tol)
        how: Any = {"tau": tau, "iterations": rounds, "tol": tol, "start": start, "finished": note} | marginals
        return sinkhorn(operator.half_steps, operator.row_error, **how)

    try:
        potentials = run(_last_round(observer, operator))
        if operator.lost:
            operator.start_in_logs()
            potentials = run(None)
        bias = _as_bias(potentials, tau, gallery)
        bias = replace(bias, error_bound=tau * float(operator.error), plan=str(operator.plan))
        if not held_out:
            return bias
        parts = host(_without(operator, potentials, held_out, tau, marginals["b"])[:gallery])
        return replace(bias, held_out=tuple(centred(g.astype(np.float64))[0].astype(np.float32) for g in parts.T))
    finally:
        operator.close()


def _without(operator: Operator, whole: Potentials, held_out: Sequence[IntArray], tau: float, b: Any) -> Any:
    """g without the rows of each part: (columns, parts); of a large bank after few rounds, if those say enough."""
    xp, count = namespace(b), len(held_out)
    part_of = np.full(whole.f.shape[0], -1)
    for part, rows in enumerate(held_out):
        part_of[rows] = part
    prior = tau * xp.log(b)[:, None]

    def rounds_from(start: Any, rounds: int) -> tuple[Any, Any]:
        before = g = xp.stack([start] * count, axis=1)
        for _ in range(rounds):
            before, g = g, prior - operator.columns_without(g, part_of)
        return g, g - before

    if len(part_of) >= ENOUGH_ROWS and whole.iterations > HELD_OUT_ROUNDS:
        g, moved = rounds_from(whole.g, HELD_OUT_ROUNDS)
        if float(xp.mean((moved - xp.mean(moved, axis=0)) ** 2)) <= (SETTLED * tau) ** 2:
            return g
    return rounds_from(xp.zeros_like(b), whole.iterations)[0]


def _last_round(observer: FitObserver | None, operator: Operator) -> Round | None:
    """The last round of an earlier run, with its kernel computed again."""
    state = None if observer is None else observer.load()
    if state is None:
        return None
    operator.restore(state)
    home = operator.array_like
    return Round(int(state["rounds"][0]), like(state["f"], home), like(state["columns"], home))


def _as_bias(potentials: Potentials, tau: float, gallery: int) -> Bias:
    """The bias of the first ``gallery`` columns, with the row potentials that extend it to unseen targets.

    The constant tau log n of a uniform target marginal moves into the potentials, where the last half-step finds it.
    """
    values, offset = centred(host(potentials.g[:gallery]).astype(np.float64))
    rows = host(potentials.f).astype(np.float64) + tau * np.log(potentials.g.shape[0])
    return Bias(values, offset, potentials.status, potentials.iterations, potentials.marginal_error, rows)
