"""Folds: one read of a bank, block after block, into one number (or a few) per target.

Each is an associative merge of what a block says on its own, so blocks may come in any size and order.
"""

from __future__ import annotations

import numpy as np

from unhub.banks.bank import Bank, blocks
from unhub.core import logsumexp
from unhub.core.topk import top_k
from unhub.foundation.types import BoolArray, FloatArray


def column_logsumexp(bank: Bank, tau: float, row_potential: FloatArray | None = None) -> FloatArray:
    """tau * log sum_u exp((s_uj + f_u) / tau) of every target j: (gallery,) float64."""
    level = 0.0 if row_potential is None else float(row_potential.mean())
    total = np.full(bank.shape[1], -np.inf)
    for start, scores in blocks(bank):
        f = None if row_potential is None else row_potential[start : start + scores.shape[0]] - level
        total = logsumexp.add_logs(total, logsumexp.column_logsumexp(scores, tau, f), tau)
    return total + level


def sinkhorn_pass(bank: Bank, tau: float, g: FloatArray, row_mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Row potentials f (bank,) that answer g, and the columns' tau * log sum_u exp((s_uj + f_u) / tau).

    g moves by a constant without changing the plan; it is centred before float32 scores see it, so that no digits
    are spent on the constant.
    """
    level = float(g.mean())
    f = np.empty(bank.shape[0])
    total = np.full(bank.shape[1], -np.inf)
    for start, scores in blocks(bank):
        rows = slice(start, start + scores.shape[0])
        f[rows], share = logsumexp.sinkhorn_block(scores, tau, g - level, row_mass[rows])
        total = logsumexp.add_logs(total, share, tau)
    return f - level, total - level


def row_logsumexp(bank: Bank, tau: float, g: FloatArray) -> FloatArray:
    """tau * log sum_j exp((s_uj + g_j) / tau) of every bank row u: (bank,) float64."""
    level = float(g.mean())
    parts = [logsumexp.row_logsumexp(scores, tau, g - level) for _, scores in blocks(bank)]
    return np.concatenate(parts) + level


def column_moments(bank: Bank, weight: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Mean and population variance of every target's finite bank scores: (gallery,) twice, float64."""
    n = bank.shape[1]
    mass, mean, spread = np.zeros(n), np.zeros(n), np.zeros(n)
    for start, scores in blocks(bank):
        rows = slice(start, start + scores.shape[0])
        w = np.ones(scores.shape[0]) if weight is None else weight[rows]
        finite = np.isfinite(scores)
        s = np.where(finite, scores, 0).astype(np.float64)
        here = w @ finite
        part = np.divide(w @ s, here, out=np.zeros(n), where=here > 0)
        squares = w @ np.where(finite, (s - part) ** 2, 0)
        both = np.maximum(mass + here, np.finfo(float).tiny)
        gap = part - mean
        mean = mean + gap * here / both
        spread += squares + gap**2 * mass * here / both
        mass += here
    return mean, spread / np.maximum(mass, np.finfo(float).tiny)


def column_means(bank: Bank, weight: FloatArray | None = None) -> FloatArray:
    """Mean of every target's finite bank scores, weighted when weights are given: (gallery,) float64."""
    return column_moments(bank, weight)[0]


def column_top(bank: Bank, k: int, weight: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """The k largest bank scores of every target and the weights of their rows: (k, gallery) twice, best first.

    k is clipped to the scores that every target has; masked ones, minus infinity, do not count. Blocks gather until
    they are taller than what is kept, so that each score is looked at about twice, whatever the block size.
    """
    k = min(k, bank.shape[0])
    waiting: list[FloatArray] = []
    rows: list[FloatArray] = []
    for start, scores in blocks(bank):
        waiting.append(scores)
        if weight is not None:
            rows.append(np.broadcast_to(weight[start : start + len(scores), None], scores.shape))
        if sum(map(len, waiting)) >= 2 * k:
            waiting, rows = _largest(waiting, rows, k)
    (best,), kept = _largest(waiting, rows, k)
    order = np.argsort(-best, axis=0, kind="stable")
    best = np.take_along_axis(best, order, axis=0).astype(np.float64)
    weights = np.take_along_axis(kept[0], order, axis=0) if kept else np.ones_like(best)
    finite = max(1, int(np.isfinite(best).all(axis=1).sum()))
    return best[:finite], weights[:finite]


def _largest(parts: list[FloatArray], weights: list[FloatArray], k: int) -> tuple[list[FloatArray], list[FloatArray]]:
    """The k largest of each column, unordered, and the weights that go with them when there are any."""
    stacked = parts[0] if len(parts) == 1 else np.concatenate(parts)
    surplus = len(stacked) - k
    if surplus <= 0:
        return [stacked], [np.concatenate(weights)] if weights else []
    if not weights:
        return [np.partition(stacked, surplus, axis=0)[surplus:]], []
    places = np.argpartition(stacked, surplus, axis=0)[surplus:]
    taken = np.take_along_axis(np.concatenate(weights), places, axis=0)
    return [np.take_along_axis(stacked, places, axis=0)], [taken]


def activation_set(bank: Bank, k: int) -> BoolArray:
    """Whether a target is among the k best of any bank row: (gallery,)   [bogolin:22]."""
    active = np.zeros(bank.shape[1], dtype=bool)
    for _, scores in blocks(bank):
        active[top_k(scores, k)[1].ravel()] = True
    return active
