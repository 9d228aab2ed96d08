"""Folds: one read of a bank, block after block, into one number (or a few) per target.

Each is an associative merge of what a block says on its own, so blocks may come in any size and order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.banks.bank import Bank, blocks, slabs
from unhub.banks.column_top import ColumnTop
from unhub.core.arrays import host, is_numpy, like, namespace, wide
from unhub.core.kernels import compiled_for
from unhub.core.logsumexp import LARGE_TAU, ColumnSums
from unhub.core.topk import top_k
from unhub.foundation.types import BoolArray, FloatArray


def column_logsumexp(bank: Bank, tau: float, row_potential: FloatArray | None = None) -> FloatArray:
    """tau * log sum_u exp((s_uj + f_u) / tau) of every target j: (gallery,) float64."""
    level = 0.0 if row_potential is None else float(row_potential.mean())
    potential = None if row_potential is None else like(row_potential - level, bank.home)
    quick = is_numpy(bank.home) and compiled_for(bank.shape) and tau <= LARGE_TAU * _largest(bank)
    sums = ColumnSums(bank.shape[1], tau, compile=quick)
    for start, scores in slabs(bank) if quick else blocks(bank):
        sums.add(scores, None if potential is None else potential[start : start + scores.shape[0]])
    return host(sums.total()).astype(np.float64) + level


def _largest(bank: Bank) -> float:
    """The largest score of the first rows, by size."""
    scores = np.abs(bank.read(0, min(8, bank.shape[0])))
    return float(scores.max(initial=0.0, where=np.isfinite(scores)))


def column_moments(bank: Bank, weight: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Mean and population variance of every target's finite bank scores: (gallery,) twice, float64."""
    n = bank.shape[1]
    mass, mean, spread = np.zeros(n), np.zeros(n), np.zeros(n)
    for start, block in blocks(bank):
        scores = host(block)
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
    quick = is_numpy(bank.home) and compiled_for(bank.shape)
    total: Any = 0.0
    for start, scores in slabs(bank) if quick else blocks(bank):
        rows = slice(start, start + scores.shape[0])
        xp = namespace(scores)
        w = xp.ones_like(scores[:, 0]) if weight is None else like(weight[rows], scores, scores.dtype)
        total = total + (w @ scores).astype(np.float64) if is_numpy(scores) else total + xp.astype(w @ scores, wide(w))
    means: FloatArray = host(total) / (bank.shape[0] if weight is None else weight.sum())
    return means if np.isfinite(means).all() else column_moments(bank, weight)[0]


def column_top(bank: Bank, k: int, weight: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """The k largest bank scores of every target and the weights of their rows: (k, gallery) twice, best first.

    k is clipped to the scores that every target has; masked ones, minus infinity, do not count.
    """
    k = min(k, bank.shape[0])
    quick = is_numpy(bank.home) and compiled_for(bank.shape) and weight is None
    top = ColumnTop(bank.shape[1], k, compile=quick)
    for start, scores in slabs(bank) if quick else blocks(bank):
        top.add(host(scores), None if weight is None else weight[start : start + scores.shape[0]])
    return top.best()


def activation_set(bank: Bank, k: int) -> BoolArray:
    """Whether a target is among the k best of any bank row: (gallery,)   [bogolin:22]."""
    active = np.zeros(bank.shape[1], dtype=bool)
    for _, scores in blocks(bank):
        active[top_k(scores, k)[1].ravel()] = True
    return active
