"""Both Sinkhorn half-steps of a block of rows, from its scores or from a kernel that was kept   [pan:25, Alg. A1].

With a reference p for the columns, a row of the kernel is

    K_uj = exp((s_uj + p_j - top_u) / tau),    top_u the largest s_uj + p_j of its row,

so that K is in [0, 1] whatever tau is. A round that scales the columns by v and gives every row the mass a needs

    z_u = sum_j K_uj v_j    and    mass_j = sum_u (a_u / z_u) K_uj.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.core.arrays import is_numpy, namespace, wide
from unhub.core.execution import suits
from unhub.core.logsumexp import LOG2_E, row_exponentials, row_logsumexp
from unhub.core.threads import parts_for, share
from unhub.foundation.types import FloatArray

SETTLE_ROWS = 512
"""rows whose shares one part adds in float32 before the sum moves to float64"""

PARTIAL_SUMS = 16
"""partial sums of a row, at least: lanes of an instruction, several in flight at once"""

AT_ONCE = 1 << 21
"""numbers of a kept kernel that go through both products at once: the second finds them in cache"""


class SinkhornKernel:
    """The half-steps at one temperature, with their scratch memory."""

    def __init__(self, columns: int, tau: float, *, kernels: Any = None, threads: int = 1, memory: int = 0) -> None:
        self._tau = tau
        self._kernels, self._threads = kernels, threads
        self._scale = np.float32(LOG2_E / tau)
        parts = 0 if kernels is None else parts_for((4 + 4 + 8) * columns, memory, threads)
        self._mass = np.empty((parts, columns), dtype=np.float32)
        self._row = np.empty((parts, columns), dtype=np.float32)

    def from_scores(self, scores: Any, p: Any, v: Any, a: Any, kept: Any = None) -> tuple[Any, Any, Any]:
        """z and top (block,) and mass (gallery,) of a block of scores; the kernel goes to ``kept`` if that is given.

        ``kept`` may be the scores' own memory. Arguments are float32, or all of them float64.
        """
        if self._kernels is None or not suits(scores):
            kernel, top = row_exponentials(scores, self._tau, p)
            if kept is not None:
                kept[...] = kernel
            return *_products(kernel, v, a), top
        top, z = np.empty(len(scores), dtype=np.float32), np.empty(len(scores), dtype=np.float32)
        fixed = p, self._scale, v

        def work(part: int, start: int, stop: int) -> None:
            rows = slice(start, stop)
            sums = a[rows], top[rows], z[rows], self._mass[part]
            if kept is None:
                self._kernels.pass_scores(scores[rows], *fixed, *sums, self._row[part])
            elif kept.dtype == np.uint16:
                self._kernels.keep_halves(scores[rows], *fixed, *sums, self._row[part], kept[rows])
            else:
                self._kernels.keep_floats(scores[rows], *fixed, *sums, kept[rows])

        return z, self._column_sums(len(scores), work), top

    def from_kernel(self, kernel: Any, v: Any, a: Any) -> tuple[Any, Any]:
        """z (block,) and mass (gallery,) of a kernel that was kept."""
        if self._kernels is None:
            return _products(kernel, v, a)
        z = np.empty(len(kernel), dtype=np.float32)

        def work(part: int, start: int, stop: int) -> None:
            rows = slice(start, stop)
            self._kernels.pass_kept(kernel[rows], v, a[rows], z[rows], self._mass[part])

        return z, self._column_sums(len(kernel), work)

    def of_parts(self, kernel: Any, v: Any, a: Any) -> Any:
        """The masses (gallery, parts) of several scalings v (gallery, parts) and row shares a (block, parts)."""
        xp = namespace(kernel)
        if not is_numpy(kernel):
            z = kernel @ v
            return xp.astype(kernel.T @ xp.where(z > 0, a / z, xp.zeros_like(z)), wide(kernel))
        if kernel.dtype == np.uint16 or (self._kernels is not None and v.shape[1] == 1):
            each = [self.from_kernel(kernel, v[:, part].copy(), a[:, part].copy())[1] for part in range(v.shape[1])]
            return np.stack(each, axis=1)
        mass = np.zeros(v.shape)
        step = max(1, min(AT_ONCE // kernel.shape[1], SETTLE_ROWS))
        for start in range(0, len(kernel), step):
            rows = slice(start, start + step)
            z = kernel[rows] @ v
            mass += (np.divide(a[rows], z, out=np.zeros_like(z), where=z > 0).T @ kernel[rows]).T
        return mass

    def row_sums(self, scores: Any, g: Any) -> Any:
        """tau * log sum_j exp((s_uj + g_j) / tau) of every row, float64."""
        if self._kernels is None or not suits(scores):
            return row_logsumexp(scores, self._tau, g)
        ones = np.ones_like(g)
        top, z = np.empty(len(scores), dtype=np.float32), np.empty(len(scores), dtype=np.float32)

        def work(part: int, start: int, stop: int) -> None:
            rows = slice(start, stop)
            self._kernels.row_sums(scores[rows], g, self._scale, ones, top[rows], z[rows], self._row[part])

        share(len(scores), work, parts=len(self._row), threads=self._threads)
        return top + self._tau * np.log(z.astype(np.float64))

    def _column_sums(self, rows: int, work: Any) -> FloatArray:
        """Runs the work on parts of the rows; every so many rows, sums of the columns move to float64."""
        total = np.zeros(self._mass.shape)

        def work_and_settle(part: int, start: int, stop: int) -> None:
            for low in range(start, stop, SETTLE_ROWS):
                self._mass[part].fill(0)
                work(part, low, min(low + SETTLE_ROWS, stop))
                total[part] += self._mass[part]

        share(rows, work_and_settle, parts=len(total), threads=self._threads)
        sums: FloatArray = total.sum(axis=0)
        return sums


def _products(kernel: Any, v: Any, a: Any) -> tuple[Any, Any]:
    """z and mass by two products with a vector, a cache's worth of rows at a time."""
    xp = namespace(kernel)
    if not is_numpy(kernel):
        z = kernel @ v
        return z, xp.astype(xp.where(z > 0, a / z, xp.zeros_like(z)) @ kernel, wide(kernel))
    z = np.empty(len(kernel), dtype=kernel.dtype)
    mass = np.zeros(kernel.shape[1])
    step = max(1, min(AT_ONCE // kernel.shape[1], SETTLE_ROWS))
    for start in range(0, len(kernel), step):
        rows = slice(start, start + step)
        np.matmul(kernel[rows], v, out=z[rows])
        mass += np.divide(a[rows], z[rows], out=np.zeros_like(z[rows]), where=z[rows] > 0) @ kernel[rows]
    return z, mass
