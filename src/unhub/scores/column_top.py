"""The k largest scores of every column, gathered block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.core.execution import suits
from unhub.core.threads import parts_for, share
from unhub.foundation.types import FloatArray

STEP = 64
"""rows that compiled kernels gather before they check whether a pool is full"""

ROOM = 3
"""scores that a pool holds, in multiples of k: larger pools mean fewer, longer selections"""

GROUPS, GROUP_ROWS = 2, 4
"""groups of rows, in multiples of k, whose largest scores give a first edge, and rows of a group to be worth it"""

LANES = 64
"""columns of a part are a multiple of this, so that no two threads write to one cache line"""


class ColumnTop:
    """The k largest scores of each column seen so far, and the weights of their rows."""

    def __init__(self, columns: int, k: int, *, kernels: Any = None, threads: int = 1) -> None:
        self._k = k
        self._pools: _Pools | None = None if kernels is None else _Pools(columns, k, kernels, threads)
        self._waiting: list[FloatArray] = []
        self._weights: list[FloatArray] = []

    def __getstate__(self) -> dict[str, Any]:
        waiting = self._all_waiting()
        return {"_k": self._k, "_pools": None, "_waiting": waiting, "_weights": self._weights}

    def add(self, scores: FloatArray, weight: FloatArray | None = None) -> None:
        """Takes in a block of rows (block, gallery) and the weights of its rows, if they have any.

        Blocks gather until they are taller than k, so that each score is read about twice, whatever the block size.
        """
        if self._pools is not None and suits(scores):
            self._pools.add(scores)
            return
        self._waiting.append(scores)
        if weight is not None:
            self._weights.append(np.broadcast_to(weight[:, None], scores.shape))
        if sum(map(len, self._waiting)) >= 2 * self._k:
            self._select()

    def merge(self, other: ColumnTop) -> ColumnTop:
        """Takes in the scores of other rows."""
        self._waiting += other._all_waiting()
        self._weights += other._weights
        return self

    def _all_waiting(self) -> list[FloatArray]:
        """Blocks that hold the k largest scores among others, those of the pools included."""
        pools = self._pools
        return [*self._waiting, *([pools.best()] if pools is not None and pools.used else [])]

    def best(self) -> tuple[FloatArray, FloatArray]:
        """Scores and weights, best first: (k, gallery) twice, k clipped to the finite scores that every column has."""
        self._waiting = self._all_waiting()
        best, weights = self._sorted()
        finite = max(1, int(np.isfinite(best).all(axis=1).sum()))
        return best[:finite], weights[:finite]

    def _sorted(self) -> tuple[FloatArray, FloatArray]:
        if len(self._waiting) == 1 and self._pools is not None and self._pools.used:
            best = self._waiting[0].astype(np.float64)
            return best, np.broadcast_to(1.0, best.shape)
        self._select()
        order = np.argsort(-self._waiting[0], axis=0, kind="stable")
        best = np.take_along_axis(self._waiting[0], order, axis=0).astype(np.float64)
        ones = np.broadcast_to(1.0, best.shape)
        return best, np.take_along_axis(self._weights[0], order, axis=0) if self._weights else ones

    def _select(self) -> None:
        """Keeps the k largest of each column, unordered, and the weights that go with them."""
        stacked = self._waiting[0] if len(self._waiting) == 1 else np.concatenate(self._waiting)
        weights = np.concatenate(self._weights) if self._weights else None
        surplus = len(stacked) - self._k
        if surplus > 0 and weights is None:
            stacked = np.partition(stacked, surplus, axis=0)[surplus:]
        elif surplus > 0 and weights is not None:
            places = np.argpartition(stacked, surplus, axis=0)[surplus:]
            stacked, weights = np.take_along_axis(stacked, places, axis=0), np.take_along_axis(weights, places, axis=0)
        self._waiting = [stacked]
        self._weights = [] if weights is None else [weights]


class _Pools:
    """A pool for each column: scores above its edge go in; a full pool keeps its k largest, and the edge rises."""

    def __init__(self, columns: int, k: int, kernels: Any, threads: int) -> None:
        self._k = k
        self._kernels, self._threads = kernels, threads
        self._pool = np.full((columns, ROOM * k + STEP), -np.inf, dtype=np.float32)
        self._count = np.zeros(columns, dtype=np.int64)
        self._edge = np.full(columns, -np.inf, dtype=np.float32)
        self._parts = parts_for(1, 1 << 20, threads)
        self.used = False
        """whether anything was added"""

    def add(self, scores: FloatArray) -> None:
        """Takes in a block; threads have columns of their own."""
        first = not self.used and len(scores) >= GROUPS * GROUP_ROWS * self._k
        self.used = True

        def work(part: int, left: int, right: int) -> None:
            mine = slice(left, right)
            if first:
                self._edge[mine] = self._first_edge(scores, left, right)
            pools = left, right, STEP, self._edge, self._count, self._pool
            done = self._kernels.gather_columns(scores, *pools)
            while done < len(scores):
                self._empty(mine)
                done += self._kernels.gather_columns(scores[done:], *pools)

        share(scores.shape[1], work, parts=self._parts, threads=self._threads, step=LANES)

    def best(self) -> FloatArray:
        """(k, gallery), best first; minus infinity where a column has fewer."""
        best = np.empty((self._k, len(self._pool)), dtype=np.float32)

        def work(part: int, left: int, right: int) -> None:
            self._empty(slice(left, right))
            best[:, left:right] = np.sort(self._pool[left:right, : self._k])[:, ::-1].T

        share(len(self._pool), work, parts=self._parts, threads=self._threads, step=LANES)
        return best

    def _first_edge(self, scores: FloatArray, left: int, right: int) -> FloatArray:
        """Just below the k-th largest of the largest scores of 2k groups of rows.

        At least k scores of a column are as large, whatever their order; of random ones about a third more than k.
        """
        tops = np.empty((GROUPS * self._k, right - left), dtype=np.float32)
        self._kernels.group_tops(scores, left, right, tops)
        surplus = len(tops) - self._k
        edge = np.partition(np.ascontiguousarray(tops.T), surplus, axis=1)[:, surplus]
        return np.nextafter(edge, np.float32(-np.inf))

    def _empty(self, mine: slice) -> None:
        pool, count = self._pool[mine], self._count[mine]
        width = max(self._k, int(count.max(initial=0)))
        held = pool[:, :width]
        held.partition(width - self._k, axis=1)
        pool[:, : self._k] = held[:, width - self._k :].copy()
        pool[:, self._k : width] = -np.inf
        self._edge[mine] = np.maximum(self._edge[mine], pool[:, : self._k].min(axis=1))
        count.fill(self._k)
