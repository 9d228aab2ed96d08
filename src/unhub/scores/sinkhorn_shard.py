"""A shard of Sinkhorn's alternation: some bank rows, their kept kernel, and the fused step over them.

The kernel K of `unhub.core.sinkhorn_kernel` is made around a reference p. Potentials g of the columns scale it by
v_j = exp((g_j - p_j) / tau), and one step over the rows of a shard gives

    f_u = tau log(a_u / z_u) - top_u    and    mass_j = sum_u (a_u / z_u) K_uj.

In a block of rows f needs only its own row and g, so one read of the scores is one round. Shards meet in ``merge``:
masses add, losses and sizes take the larger one. A kernel that is kept serves every later round at the speed of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.core.arrays import is_numpy, like, namespace, wide, widen
from unhub.core.execution import Execution, compiled, suits
from unhub.core.logsumexp import ColumnSums, log, row_exponentials
from unhub.core.plan import Plan, prefault
from unhub.core.sinkhorn_kernel import SinkhornKernel
from unhub.foundation.types import BoolArray, FloatArray, IntArray
from unhub.scores.source import ScoreSource

SMALLEST = {8: 2.0**-1022, 4: 2.0**-126, 2: 2.0**-63}
"""the smallest number of a kernel, by the bytes that it is kept in"""

ROUNDING = {8: 2.0**-53, 4: 2.0**-24, 2: 2.0**-11}
"""the relative error of a number of a kernel, by the bytes that it is kept in"""

KEPT_AT_ONCE = 1 << 28
"""numbers of a kept kernel in one step: a fraction of a second, then progress is reported and Ctrl-C works"""

MASKED = 1e38
"""larger by size than any score; the maximum of a masked row is larger still"""

Rows = tuple[tuple[int, Any], ...]
"""numbers of the rows of some shards, each with the number of its first row"""


@dataclass(frozen=True)
class KernelSums:
    """The sums of a step with a kernel over some rows."""

    f: Rows
    mass: Any
    """(gallery,) sum_u (a_u / z_u) K_uj"""
    row_loss: Any
    """largest share of a row's sum that its smallest numbers may have lost"""
    column_loss: Any
    """sum over rows of what the smallest numbers may have lost of a column"""
    rounding: float
    """relative error of the kept numbers"""
    size: Any
    """largest top_u by size"""
    kept: int
    """rows whose kernel is kept"""

    def merge(self, other: KernelSums) -> KernelSums:
        """Of the rows of both."""
        return KernelSums(
            self.f + other.f,
            self.mass + other.mass,
            larger(self.row_loss, other.row_loss),
            self.column_loss + other.column_loss,
            max(self.rounding, other.rounding),
            larger(self.size, other.size),
            self.kept + other.kept,
        )


@dataclass(frozen=True)
class LogSums:
    """The sums of a step in the log domain over some rows."""

    f: Rows
    columns: ColumnSums
    kept: int

    def merge(self, other: LogSums) -> LogSums:
        """Of the rows of both."""
        return LogSums(self.f + other.f, self.columns.merge(other.columns), self.kept + other.kept)


class SinkhornShard:
    """Rows of a bank from ``first`` on, with scratch memory and the kernel that is kept between steps.

    source: the scores of these rows. a: (rows,) their share of the mass. scale: rows of the whole bank, which brings
    shares near to one. fine: in float64. quick: with compiled kernels.
    """

    def __init__(
        self,
        source: ScoreSource,
        a: Any,
        tau: float,
        plan: Plan,
        *,
        first: int,
        scale: int,
        fine: bool,
        quick: bool,
        execution: Execution,
        advance: Callable[[int], None] | None = None,
    ) -> None:
        self._source, self._a, self._tau, self._plan, self._first = source, a, tau, plan, first
        self._execution, self._advance = execution, advance
        self._type = wide(a) if fine else namespace(a).float32
        self._scale = scale
        self._share = self._typed(a * scale)
        self._quick = quick
        self._start()

    def _start(self) -> None:
        kernels = compiled() if self._quick else None
        workers, memory = self._execution.workers, self._execution.bytes // 16
        self._kernel = SinkhornKernel(self._plan.columns, self._tau, kernels=kernels, threads=workers, memory=memory)
        self._scratch: Any = None
        self._in_logs = False
        self._kept: Any = None
        self._top: Any = None
        self._kept_rows = 0

    def __getstate__(self) -> dict[str, Any]:
        """Without the kernel: a shard that moves to another process computes it again."""
        mine = ("_source", "_a", "_tau", "_plan", "_first", "_execution", "_type", "_scale", "_share", "_quick")
        return {name: getattr(self, name) for name in mine} | {"_advance": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    # -- what a driver calls

    def step(self, g: Any, p: Any) -> KernelSums:
        """Both half-steps with a kernel around p."""
        xp, tau, plan = namespace(g), self._tau, self._plan
        cached = self._kept_rows > 0
        smallest = SMALLEST[plan.number_bytes if cached else max(4, plan.number_bytes)]
        v, ahead = self._scaling(g, p)
        near = self._typed(p)
        z, top, mass = xp.empty_like(self._share), xp.empty_like(self._share), xp.zeros_like(g)
        for low, high in self._steps(0, plan.rows):
            a = self._share[low:high]
            if high <= self._kept_rows:
                z[low:high], part = self._kernel.from_kernel(self._kept[low:high], v, a)
                top[low:high] = self._top[low:high]
            else:
                scores, kept = self._read(low, high)
                z[low:high], part, top[low:high] = self._kernel.from_scores(scores, near, v, a, kept)
                if kept is not None:
                    self._top[low:high] = top[low:high]
                    self._kept_rows = high
            mass += part
            self._report(high - low)
        with np.errstate(all="ignore"):
            row_loss = smallest * (plan.columns / widen(xp.min(z)))
            column_loss = smallest * widen(xp.sum(self._share / z))
        f = tau * (log(self._a) - log(widen(z))) - widen(top) - ahead
        rounding = 2 * ROUNDING[plan.number_bytes] if cached else 0.0
        return KernelSums(((self._first, f),), mass, row_loss, column_loss, rounding, size(top), self._kept_rows)

    def log_step(self, g: Any) -> LogSums:
        """Both half-steps in the log domain."""
        near = self._typed(g)
        f = namespace(g).empty_like(self._a)
        kernels = compiled() if self._quick else None
        sums = ColumnSums(self._plan.columns, self._tau, kernels=kernels, threads=self._execution.workers)
        for low, high in self._steps(0, self._plan.rows):
            scores = self._scores(low, high)
            f[low:high] = self._tau * log(self._a[low:high]) - self._kernel.row_sums(scores, near)
            sums.add(scores, f[low:high])
            self._report(high - low)
        return LogSums(((self._first, f),), sums, self._kept_rows)

    def row_error(self, f: Any, g: Any, level: Any, p: Any, starts: list[int], height: int) -> tuple[Any, Any]:
        """sum_u |row sum of the plan - a_u| and sum_u a_u over some slices of the bank, those in this shard."""
        shift: Any = 0.0
        probed: Any = 0.0
        for start in starts:
            low_end, high_end = max(0, start - self._first), min(self._plan.rows, start - self._first + height)
            for low, high in self._steps(low_end, high_end):
                a = self._a[low:high]
                exact = self._tau * log(a) - self._row_sums(low, high, g - level, p) - level
                mine = f[self._first + low : self._first + high]
                shift = shift + a @ abs(namespace(f).expm1((mine - exact) / self._tau))
                probed = probed + a.sum()
        return shift, probed

    def mass_without(self, g: Any, p: Any, part_of: IntArray) -> Any:
        """sum_u (a_u / z_u) K_uj over the rows that are not in a part, for each part: (gallery, parts)."""
        xp = namespace(g)
        v = self._typed(xp.exp((g - p[:, None] - xp.max(g - p[:, None], axis=0)) / self._tau))
        near = self._typed(p)
        mass = xp.zeros_like(g)
        for low, high in self._steps(0, self._plan.rows):
            a = self._share[low:high]
            outside = like(self._outside(part_of, low, high, v.shape[1]), a, a.dtype)
            if high <= self._kept_rows:
                kernel = self._kept[low:high]
            elif self._quick:
                kernel = self._place(high - low)
                self._kernel.from_scores(self._scores_in(low, high, kernel), near, v[:, 0].copy(), a, kernel)
            else:
                kernel = row_exponentials(self._scores_in(low, high, self._place(high - low)), self._tau, near)[0]
            mass = mass + self._kernel.of_parts(kernel, v, a[:, None] * outside)
            self._report(high - low)
        return mass

    def logs_without(self, g: Any, part_of: IntArray) -> list[ColumnSums]:
        """The column sums in the log domain over the rows that are not in a part, for each part."""
        kernels, count = compiled() if self._quick else None, g.shape[1]
        sums = [
            ColumnSums(self._plan.columns, self._tau, kernels=kernels, threads=self._execution.workers)
            for _ in range(count)
        ]
        for low in range(0, self._plan.rows, self._plan.block_rows):
            high = min(low + self._plan.block_rows, self._plan.rows)
            scores, outside = self._scores(low, high), self._outside(part_of, low, high, count)
            for part, each in enumerate(sums):
                a = self._a[low:high] * like(outside[:, part], self._a, self._a.dtype)
                each.add(scores, self._tau * log(a) - self._kernel.row_sums(scores, self._typed(g[:, part])))
            self._report(high - low)
        return sums

    def _outside(self, part_of: IntArray, low: int, high: int, count: int) -> BoolArray:
        """Which of some rows are not in each part: (rows, parts)."""
        outside: BoolArray = part_of[self._first + low : self._first + high, None] != np.arange(count)
        return outside

    def forget(self) -> None:
        """Releases the kernel or the scores that were kept."""
        self._kept = self._top = None
        self._kept_rows = 0

    def use_logs(self, plan: Plan, shards: int) -> None:
        """Steps in the log domain from here on: scores are kept, by another plan for the whole bank."""
        self.forget()
        self._in_logs, self._scratch = True, None
        self._plan = plan.part(self._plan.rows, shards)

    # -- inside

    def _scaling(self, g: Any, p: Any) -> tuple[Any, Any]:
        """v = exp((g - p - ahead) / tau), and ahead, the largest g - p."""
        xp = namespace(g)
        ahead = xp.max(g - p)
        return self._typed(xp.exp((g - p - ahead) / self._tau)), ahead

    def _row_sums(self, low: int, high: int, g: Any, p: Any) -> Any:
        """tau log sum_j exp((s_uj + g_j) / tau) of some rows."""
        if self._in_logs or high > self._kept_rows:
            return self._kernel.row_sums(self._scores(low, high), self._typed(g))
        v, ahead = self._scaling(g, p)
        z = self._kernel.from_kernel(self._kept[low:high], v, self._share[low:high])[0]
        return self._tau * log(widen(z)) + widen(self._top[low:high]) + ahead

    def _steps(self, low: int, high: int) -> list[tuple[int, int]]:
        """Rows of each step: many where a kernel is kept, then blocks of the plan."""
        kept = low if self._in_logs else min(max(low, self._kept_rows), high)
        tall, height = max(1, KEPT_AT_ONCE // self._plan.columns), self._plan.block_rows
        return [
            *((start, min(start + tall, kept)) for start in range(low, kept, tall)),
            *((start, min(start + height, high)) for start in range(kept, high, height)),
        ]

    def _scores(self, low: int, high: int) -> Any:
        """Scores of a block, kept where the plan has room for them."""
        plan = self._plan
        if self._in_logs and high <= self._kept_rows:
            return self._kept[low:high]
        if not self._in_logs or plan.number_bytes == 2 or low != self._kept_rows or high > plan.kept_rows:
            return self._scores_in(low, high, self._place(high - low))
        scores, kept = self._read(low, high)
        if scores is not kept:
            kept[...] = scores
        self._kept_rows = high
        return kept

    def _read(self, low: int, high: int) -> tuple[Any, Any]:
        """Scores of a block, and memory for its kernel: the same memory where possible."""
        keep = high <= self._plan.kept_rows
        if keep and self._kept is None:
            self._kept = self._room(self._plan.kept_rows)
            self._top = namespace(self._share).empty_like(self._share)
        kept = self._kept[low:high] if keep else None
        same = keep and self._type == np.float32 and self._plan.number_bytes == 4
        return self._scores_in(low, high, kept if same else self._place(high - low)), kept

    def _scores_in(self, low: int, high: int, place: FloatArray | None) -> Any:
        """Scores of a block in the type of the steps; in ``place`` if kernels cannot read them where they are."""
        scores = self._typed(self._source.read(low, high, place))
        if not self._quick or suits(scores) or place is None:
            return scores
        place[...] = scores
        return place

    def _room(self, rows: int) -> Any:
        shape, xp = (rows, self._plan.columns), namespace(self._share)
        if xp is not np:
            return xp.empty(shape, dtype=self._type, device=self._share.device)
        return prefault(shape, np.uint16 if self._plan.number_bytes == 2 else self._type, self._execution.workers)

    def _place(self, rows: int) -> FloatArray | None:
        """Scratch memory for the scores of a block, the same every time."""
        if not is_numpy(self._share):
            return None
        if self._scratch is None:
            shape = self._plan.block_rows, self._plan.columns
            self._scratch = prefault(shape, np.float32, self._execution.workers)
        scratch: FloatArray = self._scratch[:rows]
        return scratch

    def _typed(self, x: Any) -> Any:
        return x.astype(self._type, copy=False) if is_numpy(x) else namespace(x).astype(x, self._type, copy=False)

    def _report(self, rows: int) -> None:
        if self._advance is not None:
            self._advance(rows)


def size(x: Any) -> Any:
    """The largest number by size; masked ones, minus infinity, do not count."""
    xp = namespace(x)
    sizes = abs(x)
    return xp.max(xp.where(sizes < MASKED, sizes, xp.zeros_like(sizes)))


def larger(left: Any, right: Any) -> Any:
    """The larger of two numbers, NaN if one of them is; computed on the device."""
    return namespace(left).maximum(left, right) if hasattr(left, "dtype") else max(left, right)
