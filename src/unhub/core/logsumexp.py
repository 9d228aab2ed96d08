"""Log-sum-exp over blocks of scores, shifted by the true maximum, so that any tau is finite.

Scores keep their own precision (float32 stays float32 inside the exponential); maxima, sums and logarithms that
leave a block are float64. When tau is large beside the scores, the sums hold nearly equal terms and the answer is
multiplied by tau: then the exponential is taken in float64 as well.
"""

from __future__ import annotations

import numpy as np

from unhub.foundation.types import FloatArray

LARGE_TAU = 0.25
"""tau above this share of the largest score makes float32 sums too coarse: tau * 6e-8 * sqrt(rows) would show"""

FAINT = 1e-28
"""column mass below this may have lost terms to float32 underflow (1e-38) and is summed again in the log domain"""


def column_logsumexp(scores: FloatArray, tau: float, row_potential: FloatArray | None = None) -> FloatArray:
    """tau * log sum_u exp((s_uj + f_u) / tau) of every column j, float64.

    scores: (bank, gallery); row_potential f: (bank,) in the unit of the scores, or None for zero.
    A column of minus infinities gives minus infinity.

    >>> column_logsumexp(np.array([[0.0, 1.0], [0.0, 3.0]]), tau=1e-3).round(4).tolist()
    [0.0007, 3.0]
    """
    x = scores if row_potential is None else scores + row_potential.astype(scores.dtype)[:, None]
    top = _finite(x.max(axis=0))
    x = np.subtract(x, top, dtype=_working_dtype(x, top, tau))
    x /= tau
    np.exp(x, out=x)
    return top.astype(np.float64) + tau * _log(x.sum(axis=0, dtype=np.float64))


def row_logsumexp(scores: FloatArray, tau: float, column_potential: FloatArray) -> FloatArray:
    """tau * log sum_j exp((s_uj + g_j) / tau) of every row u, float64."""
    x, top = _row_exponentials(scores, tau, column_potential)
    return top + tau * _log(x.sum(axis=1, dtype=np.float64))


def sinkhorn_block(
    scores: FloatArray, tau: float, column_potential: FloatArray, row_mass: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Both Sinkhorn half-steps of a block of bank rows, from one read of its scores   [pan:25, Alg. A1].

    f_u = tau * log a_u - tau * log sum_j exp((s_uj + g_j) / tau)        row potentials, exact for this block
    h_j = tau * log sum_u exp((s_uj + f_u) / tau)                        this block's share of the columns

    scores: (block, gallery); column_potential g: (gallery,); row_mass a: (block,). Both results are float64.
    """
    g = column_potential.astype(scores.dtype)
    x, top = _row_exponentials(scores, tau, g)
    z = x.sum(axis=1, dtype=np.float64)
    f = tau * (_log(row_mass) - _log(z)) - top
    share = np.divide(row_mass, z, out=np.zeros_like(z), where=z > 0)
    mean_share = share.mean() or 1.0
    mass = ((share / mean_share).astype(x.dtype) @ x).astype(np.float64)
    h = tau * (_log(mass) + np.log(mean_share)) - g
    faint = np.flatnonzero(mass < FAINT)
    if faint.size:
        h[faint] = column_logsumexp(scores[:, faint].astype(np.float64), tau, f)
    return f, h


def add_logs(left: FloatArray, right: FloatArray, tau: float) -> FloatArray:
    """tau * log(exp(left/tau) + exp(right/tau)): the merge of two partial log-sum-exps."""
    merged: FloatArray = tau * np.logaddexp(left / tau, right / tau)
    return merged


def _row_exponentials(scores: FloatArray, tau: float, g: FloatArray) -> tuple[FloatArray, FloatArray]:
    """exp((s_uj + g_j - top_u) / tau) in (0, 1], and top_u in float64."""
    x = scores + g.astype(scores.dtype)
    top = _finite(x.max(axis=1))
    x = (
        np.subtract(x, top[:, None], out=x)
        if _working_dtype(x, top, tau) == x.dtype
        else (x.astype(np.float64) - top[:, None])
    )
    x /= tau
    np.exp(x, out=x)
    return x, top.astype(np.float64)


def _working_dtype(x: FloatArray, top: FloatArray, tau: float) -> np.dtype[np.floating]:
    return np.dtype(np.float64) if tau > LARGE_TAU * np.abs(top).max(initial=0.0) else x.dtype


def _finite(top: FloatArray) -> FloatArray:
    """Maxima with minus infinity replaced by zero, so that a fully masked line gives log(0) and not NaN."""
    return np.where(np.isneginf(top), top.dtype.type(0), top)


def _log(x: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(x)
    return logs
