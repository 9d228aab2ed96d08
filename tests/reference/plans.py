"""Transport plans of small matrices, by methods that have nothing in common with those of the library."""

from itertools import permutations

import numpy as np
from scipy.optimize import linprog, minimize


def transport_cost(s):
    """min <1 - S, P> over P >= 0 with uniform marginals, as a linear programme."""
    m, n = s.shape
    rows = np.kron(np.eye(m), np.ones(n))
    columns = np.kron(np.ones(m), np.eye(n))
    marginals = np.concatenate((np.full(m, 1 / m), np.full(n, 1 / n)))
    return linprog((1 - s).ravel(), A_eq=np.vstack((rows, columns)), b_eq=marginals).fun


def earth_movers_distance(x, y):
    """Transport cost 1 - x.y between two uniform point sets of unit vectors."""
    return transport_cost(x @ y.T)


def best_assignment(s):
    """The 0/1 matrix of the permutation with the largest total score: all permutations are tried."""
    n = len(s)
    best = max(permutations(range(n)), key=lambda order: sum(s[i, order[i]] for i in range(n)))
    chosen = np.zeros((n, n))
    chosen[np.arange(n), best] = 1
    return chosen


def l2_plan(s, reg=0.05, rounds=20000):
    """argmin <1 - S, P> + reg/2 |P|^2: the point of the transport polytope nearest to (S - 1) / reg

    Found by Dykstra's alternating projections onto the rows' sums, the columns' sums and P >= 0.
    """
    m, n = s.shape
    p, correction = (s - 1) / reg, 0.0
    for _ in range(rounds):
        p = p + (1 / m - p.sum(axis=1, keepdims=True)) / n
        p = p + (1 / n - p.sum(axis=0)) / m
        clipped = np.maximum(p + correction, 0)
        correction = p + correction - clipped
        p = clipped
    return p


def sparse_dual_value(s, duals, k, reg):
    """The dual of transport with at most k nonzeros per column, to be maximised, and the plan that belongs to it

    sum f_i / m + sum g_j / n - sum_j sum of the k largest (f_i + g_j - c_ij)_+^2 / (2 reg)
    """
    m, n = s.shape
    f, g = duals[:m], duals[m:]
    x = np.maximum(f[:, None] + g - (1 - s), 0)
    kept = np.zeros_like(x)
    for j in range(n):
        best = np.argsort(-x[:, j], kind="stable")[:k]
        kept[best, j] = x[best, j]
    return f.mean() + g.mean() - (kept**2).sum() / (2 * reg), kept / reg


def sparse_plan(s, k, reg=0.05):
    """The best dual value that a general optimiser finds, and its plan."""
    m, n = s.shape

    def loss(duals):
        value, p = sparse_dual_value(s, duals, k, reg)
        return -value, np.concatenate((p.sum(axis=1) - 1 / m, p.sum(axis=0) - 1 / n))

    found = minimize(loss, np.zeros(m + n), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15})
    return sparse_dual_value(s, found.x, k, reg)
