"""Transport plans and assignments of a whole score matrix.

A squared L2 term makes plans sparse, and they are solved by their dual: an entry is above zero where f_i + g_j > c_ij.
Entries near to that are listed. As long as f and g have not risen by more than the margin of the list, nothing else can
be above zero, so a step of the solver reads the list alone, a small part of the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray, IntArray

LP_ITERATIONS = 10_000_000
"""network simplex pivots allowed; POT's own default stops short on 1,000 x 1,000"""

ROUNDS = 10_000
"""rounds of L-BFGS allowed"""

FLAT = 1e-14
"""relative gain of a round at which the solver has arrived: with 1e-9 rows missed up to a third of their share"""

MARGINAL = 1e-5
"""part of the smallest share by which the plan may miss a marginal; the solver does not always come so far"""

STEPS = 10_000
"""steps of a share that entries are rounded to, so that ties of the plan are ties and not the solver's last digits"""

LISTED = 0.02
"""share of the entries that a list has, unless more are above zero"""

AT_ONCE = 1 << 16
"""entries that are looked at while they are in the processor's cache"""


def transport_plan(scores: FloatArray) -> tuple[FloatArray, str | None]:
    """argmin <1 - S, P> over plans with uniform marginals, (query, gallery) float64; and why it did not finish."""
    ot = require("ot", extra="ot")
    m, n = scores.shape
    plan, log = ot.emd(np.full(m, 1 / m), np.full(n, 1 / n), _cost(scores), numItermax=LP_ITERATIONS, log=True)
    return np.asarray(plan), log["warning"] or None


def assignment(scores: FloatArray) -> FloatArray:
    """The 0/1 matrix of the assignment with the largest total score; surplus rows or columns stay empty."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    chosen = np.zeros(scores.shape)
    chosen[rows, columns] = 1.0
    return chosen


def smooth_plan(
    scores: FloatArray, reg: float, *, most_per_column: int | None = None, listed: float = LISTED
) -> FloatArray:
    """argmin <1 - S, P> + reg/2 |P|^2 over plans with uniform marginals, at most so many nonzeros per column.

    listed: share of the entries that the solver's list has, unless more are above zero.
    """
    from scipy.optimize import minimize

    cost = _cost(scores)
    dual, share = _Dual(cost, reg, most_per_column, listed), 1 / max(cost.shape)
    options: Any = {"maxiter": ROUNDS, "ftol": FLAT, "gtol": MARGINAL * share}
    solution = minimize(dual, np.zeros(sum(cost.shape)), method="L-BFGS-B", jac=True, options=options)
    rows, columns, excess = dual.above(solution.x)
    plan = np.zeros(cost.shape)
    plan[rows, columns] = np.round(excess / reg / share * STEPS) * share / STEPS
    return plan


def _cost(scores: FloatArray) -> FloatArray:
    return 1.0 - scores.astype(np.float64)


@dataclass(frozen=True)
class _Near:
    """Entries that can be above zero while potentials are no more than ``margin`` higher than at ``f`` and ``g``."""

    f: FloatArray
    g: FloatArray
    margin: float
    rows: IntArray
    columns: IntArray
    cost: FloatArray

    def holds(self, f: FloatArray, g: FloatArray) -> bool:
        return float((f - self.f).max() + (g - self.g).max()) <= self.margin


class _Dual:
    """Minus the dual, and its gradient, as a function of f and g in one vector."""

    def __init__(self, cost: FloatArray, reg: float, most: int | None, listed: float) -> None:
        self._cost, self._reg, self._most, self._list_share = cost, reg, most, listed
        m, n = cost.shape
        self._shares = np.concatenate((np.full(m, 1 / m), np.full(n, 1 / n)))
        self._near: _Near | None = None

    def __call__(self, potentials: FloatArray) -> tuple[float, FloatArray]:
        rows, columns, excess = self.above(potentials)
        m, n = self._cost.shape
        taken = np.concatenate((np.bincount(rows, excess, m), np.bincount(columns, excess, n))) / self._reg
        value = potentials @ self._shares - excess @ excess / (2 * self._reg)
        return -float(value), taken - self._shares

    def above(self, potentials: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Rows, columns and f_i + g_j - c_ij of the entries above zero, the largest of each column if so asked."""
        f, g = potentials[: len(self._cost)], potentials[len(self._cost) :]
        if self._near is None or not self._near.holds(f, g):
            self._near = self._listed(f, g)
        near = self._near
        excess = f[near.rows] + g[near.columns] - near.cost
        chosen: IntArray = np.flatnonzero(excess > 0)
        if self._most is not None:
            chosen = _largest(chosen, near.columns[chosen], excess[chosen], self._most)
        return near.rows[chosen], near.columns[chosen], excess[chosen]

    def _listed(self, f: FloatArray, g: FloatArray) -> _Near:
        m, n = self._cost.shape
        some = slice(None, None, max(1, m * n // AT_ONCE // 4))
        edge = min(0.0, float(np.quantile((f[some, None] + g - self._cost[some]), 1 - self._list_share)))
        height = max(1, AT_ONCE // n)
        parts = []
        for start in range(0, m, height):
            block = slice(start, min(start + height, m))
            places = np.flatnonzero((f[block, None] + g - self._cost[block]).ravel() > edge)
            parts.append(places + start * n)
        places = np.concatenate(parts)
        rows, columns = np.divmod(places, n)
        return _Near(f.copy(), g.copy(), -edge, rows, columns, self._cost.ravel()[places])


def _largest(places: IntArray, columns: IntArray, values: FloatArray, most: int) -> IntArray:
    """Of these places those with the largest values of each column.

    >>> _largest(np.array([4, 5, 6]), np.array([0, 1, 0]), np.array([0.1, 0.2, 0.3]), 1).tolist()
    [6, 5]
    """
    order = np.lexsort((-values, columns))
    grouped = columns[order]
    first = np.searchsorted(grouped, grouped, side="left")
    kept: IntArray = places[order[np.arange(len(order)) - first < most]]
    return kept
