"""Transport plans and assignments of a whole score matrix."""

from __future__ import annotations

import warnings

import numpy as np

from unhub.foundation.errors import UnhubWarning
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.solvers.smooth import smooth_dual

LP_ITERATIONS = 10_000_000
"""network simplex pivots allowed; POT's own default stops short on 1,000 x 1,000"""

MISSED = 0.1
"""share of a query's mass that a regularised plan may miss before it is told"""


def transport_plan(scores: FloatArray) -> FloatArray:
    """argmin <1 - S, P> over plans with uniform marginals: (query, gallery) float64."""
    ot = require("ot", extra="ot")
    cost, a, b = _problem(scores)
    plan, log = ot.emd(a, b, cost, numItermax=LP_ITERATIONS, log=True)
    if log["warning"]:
        warnings.warn(f"the transport problem did not finish: {log['warning']}", UnhubWarning, stacklevel=2)
    return np.asarray(plan)


def smooth_plan(scores: FloatArray, reg: float, *, most_per_column: int | None = None) -> FloatArray:
    """Plan of transport with (reg/2) squared L2, or with at most so many nonzeros per column: float64."""
    cost, a, _ = _problem(scores)
    plan = smooth_dual(cost, reg, most_per_column=most_per_column)
    missed = float(np.abs(plan.sum(axis=1) - a).max() * len(a))
    if missed > MISSED:
        warnings.warn(
            f"the plan of {'l2n' if most_per_column is None else f'sparse_k(k={most_per_column})'} misses the share of "
            f"a query by up to {missed:.0%}: the solver could not satisfy reg = {reg:g}; a larger reg is easier.",
            UnhubWarning,
            stacklevel=2,
        )
    return plan


def assignment(scores: FloatArray) -> FloatArray:
    """The 0/1 matrix of the assignment with the largest total score; surplus rows or columns stay empty."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    chosen = np.zeros(scores.shape)
    chosen[rows, columns] = 1.0
    return chosen


def _problem(scores: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cost 1 - S in float64 and uniform marginals."""
    m, n = scores.shape
    return 1.0 - scores.astype(np.float64), np.full(m, 1 / m), np.full(n, 1 / n)
