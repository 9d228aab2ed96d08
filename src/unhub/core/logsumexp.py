"""Log-sum-exp over blocks of scores, shifted by the true maximum, so that any tau is finite.

Scores keep their own precision (float32 stays float32 inside the exponential); maxima, sums and logarithms that
leave a block are float64. When tau is large beside the scores, the sums hold nearly equal terms and the answer is
multiplied by tau: then the exponential is taken in float64 as well. The formulas run on NumPy arrays and on tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.core.arrays import is_numpy, like, namespace, wide, widen
from unhub.core.execution import suits
from unhub.core.threads import parts_for, share
from unhub.foundation.types import FloatArray

LARGE_TAU = 0.25
"""tau above this share of the largest score makes float32 sums too coarse: tau * 6e-8 * sqrt(rows) would show"""

LOG2_E = 1.4426950408889634

SETTLE_ROWS = 4096
"""rows that one part adds in float32 before the sum moves to float64"""

SUMS_MEMORY = 1 << 24
"""bytes for the sums of all parts of a block"""

NOTHING_YET = np.float32(-1e38)
"""the largest term of a column without terms"""

CHUNK_ROWS = 128
"""rows that are added before the shift is checked; rarely they are read twice"""


def column_logsumexp(scores: FloatArray, tau: float, row_potential: FloatArray | None = None) -> FloatArray:
    """tau * log sum_u exp((s_uj + f_u) / tau) of every column j, float64.

    scores: (bank, gallery); row_potential f: (bank,) in the unit of the scores, or None for zero.
    A column of minus infinities gives minus infinity.

    >>> column_logsumexp(np.array([[0.0, 1.0], [0.0, 3.0]]), tau=1e-3).round(4).tolist()
    [0.0007, 3.0]
    """
    xp = namespace(scores)
    x = scores if row_potential is None else scores + like(row_potential, scores, scores.dtype)[:, None]
    top = _finite(xp.max(x, axis=0))
    x = widen(x) - widen(top) if is_coarse(top, tau) else x - top
    x = _exponentials(x, tau)
    sums: FloatArray = widen(top) + tau * log(xp.sum(x, axis=0, dtype=wide(x)))
    return sums


def row_logsumexp(scores: FloatArray, tau: float, column_potential: FloatArray) -> FloatArray:
    """tau * log sum_j exp((s_uj + g_j) / tau) of every row u, float64."""
    x, top = row_exponentials(scores, tau, column_potential)
    sums: FloatArray = widen(top) + tau * log(namespace(x).sum(x, axis=1, dtype=wide(x)))
    return sums


def row_exponentials(scores: FloatArray, tau: float, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """exp((s_uj + p_j - top_u) / tau) in [0, 1], and top_u, the largest s_uj + p_j of its row: (block,)."""
    xp = namespace(scores)
    x = scores + like(p, scores, scores.dtype)
    top = _finite(xp.max(x, axis=1))
    if is_coarse(top, tau):
        x = widen(x)
    x -= top[:, None]
    return _exponentials(x, tau), top


def add_logs(left: FloatArray, right: FloatArray, tau: float) -> FloatArray:
    """tau * log(exp(left/tau) + exp(right/tau)): the merge of two partial log-sum-exps."""
    merged: FloatArray = tau * namespace(left).logaddexp(left / tau, right / tau)
    return merged


def log(x: Any) -> Any:
    """The logarithm, minus infinity at zero without a warning."""
    if not is_numpy(x):
        return namespace(x).log(x)
    with np.errstate(divide="ignore"):
        return np.log(x)


def is_coarse(top: Any, tau: float) -> bool:
    """Whether tau is so large beside these maxima that float32 sums would show in the answer.

    Always no for a tensor: asking would stall its device, so there the caller widens the scores beforehand.
    """
    return bool(is_numpy(top) and tau > LARGE_TAU * np.abs(top).max(initial=0.0))


class ColumnSums:
    """tau * log sum_u exp((s_uj + f_u) / tau) of every column, gathered block by block."""

    def __init__(self, columns: int, tau: float, *, kernels: Any = None, threads: int = 1) -> None:
        self._tau = tau
        self._total: FloatArray | None = None
        self._columns = columns
        self._parts: _Parts | None = None if kernels is None else _Parts(columns, tau, kernels, threads)

    def __getstate__(self) -> dict[str, Any]:
        return {"_tau": self._tau, "_columns": self._columns, "_total": self.total(), "_parts": None}

    def add(self, scores: FloatArray, f: FloatArray | None = None) -> None:
        """Takes in a block of rows, with their potentials if they have any."""
        if self._parts is not None and suits(scores):
            step = self._parts.rows_at_once
            for low in range(0, scores.shape[0], step):
                rows = slice(low, low + step)
                if self._parts.add(scores[rows], None if f is None else f[rows]):
                    self._merge(self._parts.settle())
        else:
            self._merge(column_logsumexp(scores, self._tau, f))

    def total(self) -> FloatArray:
        """(gallery,) float64; minus infinity where nothing was added."""
        if self._parts is not None:
            self._merge(self._parts.settle())
        return np.full(self._columns, -np.inf) if self._total is None else self._total

    def merge(self, other: ColumnSums) -> ColumnSums:
        """Takes in the sums of other rows."""
        self._merge(other.total())
        return self

    def _merge(self, part: FloatArray) -> None:
        self._total = part if self._total is None else add_logs(self._total, part, self._tau)


class _Parts:
    """float32 sums, one row for each part of a block, until they move to float64."""

    def __init__(self, columns: int, tau: float, kernels: Any, threads: int) -> None:
        self._tau = tau
        self._count = parts_for(4 * 4 * columns, SUMS_MEMORY, threads)
        self._kernels, self._threads = kernels, threads
        self._shift = np.empty((self._count, columns), dtype=np.float32)
        self._sums = np.empty((self._count, columns), dtype=np.float32)
        self._scratch = np.empty((self._count, 2, columns), dtype=np.float32)
        self._clear()

    @property
    def rows_at_once(self) -> int:
        """how many rows may be added before they are settled"""
        return SETTLE_ROWS * self._count

    def add(self, scores: FloatArray, f: FloatArray | None) -> bool:
        """Takes in a block; true when so many rows were added that they should be settled."""
        rows = scores.shape[0]
        potential = np.zeros(rows, dtype=np.float32) if f is None else f.astype(np.float32)
        scale = np.float32(LOG2_E / self._tau)

        def work(part: int, start: int, stop: int) -> None:
            mine = self._shift[part], self._sums[part], self._scratch[part]
            self._kernels.column_sums(scores[start:stop], potential[start:stop], scale, *mine, CHUNK_ROWS)

        share(rows, work, parts=self._count, threads=self._threads, step=CHUNK_ROWS)
        self._rows += rows
        return self._rows >= self.rows_at_once

    def settle(self) -> FloatArray:
        """The terms since the last call, as a log-sum-exp in float64."""
        settled = np.full(self._shift.shape[1], -np.inf)
        for shift, sums in zip(self._shift, self._sums, strict=True):
            part = shift + self._tau * log(sums.astype(np.float64))
            part[shift <= NOTHING_YET] = -np.inf
            settled = add_logs(settled, part, self._tau)
        self._clear()
        return settled

    def _clear(self) -> None:
        self._rows = 0
        self._shift.fill(NOTHING_YET)
        self._sums.fill(0)


def _exponentials(x: Any, tau: float) -> Any:
    """exp(x / tau), in the memory of x where that can be."""
    x /= tau
    return np.exp(x, out=x) if is_numpy(x) else namespace(x).exp(x)


def _finite(top: Any) -> Any:
    """Maxima with minus infinity replaced by zero, so that a masked line gives log(0) and not NaN."""
    xp = namespace(top)
    return xp.where(top == -np.inf, xp.zeros_like(top), top)
