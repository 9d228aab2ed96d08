"""Sinkhorn's passes over a bank: one read of the scores gives both half-steps of a round, within a bound on memory.

The kernel K of `unhub.core.balance` is made around a reference p. Potentials g of the columns scale it by
v_j = exp((g_j - p_j) / tau), and the answer is

    f_u = tau log(a_u / z_u) - top_u,    columns_j = tau log sum_u exp((s_uj + f_u) / tau) = tau log mass_j - p_j.

A kernel that is kept serves every later round at the speed of memory; one that is not is made again around p = g. What
gets lost on the way, because a number is rounded or too small to be kept, is bounded and added up in ``error``; scores
are rounded by at most their size beside tau, sums by at most the numbers that are added one after the other. Where
the bound would be too wide the pass is made again in the log domain, where nothing is too small.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from unhub.banks.bank import Bank, Journal
from unhub.banks.sampled import slices
from unhub.banks.spread import spread
from unhub.core import balance, logsumexp
from unhub.core.arrays import is_numpy, like, namespace, wide
from unhub.core.balance import Balance
from unhub.core.blocks import touched
from unhub.core.kernels import compiled_for, suits
from unhub.core.logsumexp import LARGE_TAU, ColumnSums, log
from unhub.core.plan import for_scores, plan
from unhub.foundation.types import FloatArray

PROBED = 2048
"""rows that the marginal error is measured on at least, if there are so many; a quarter of them where that is cheap"""

SMALLEST = {8: 2.0**-1022, 4: 2.0**-126, 2: 2.0**-63}
"""the smallest number of a kernel, by the bytes that it is kept in"""

ROUNDING = {8: 2.0**-53, 4: 2.0**-24, 2: 2.0**-11}
"""the relative error of a number of a kernel, by the bytes that it is kept in"""

WORST_LOSS = 1e-6
"""the share of a sum that may be lost because its terms were too small to be kept"""

KEPT_AT_ONCE = 1 << 28
"""numbers of a kept kernel in one step: a fraction of a second, after which Ctrl-C is heard and progress told"""

MASKED = 1e38
"""no score is as large as this by size; a masked row's maximum is"""

RENEWALS = 2
"""how often a kernel is made anew, around the potentials of the day, before the log domain takes over"""


class Passes:
    """Both half-steps of every round; ``plan`` says what is kept, ``error`` how much was lost, in units of tau."""

    def __init__(
        self, bank: Bank, tau: float, row_mass: FloatArray, *, memory: int, journal: Journal | None = None
    ) -> None:
        rows, columns = bank.shape
        largest = spread(bank).largest
        self._bank, self._tau, self._journal, self._a = bank, tau, journal, like(row_mass, bank.home)
        xp = namespace(bank.home)
        fine = tau > LARGE_TAU * largest or bank.read(0, 1).dtype == xp.float64
        self._type = wide(bank.home) if fine else xp.float32
        self._compile = is_numpy(bank.home) and not fine and compiled_for(bank.shape)
        self._memory = for_scores(memory)
        self.plan = plan(rows, columns, self._memory, compiled=self._compile, number_bytes=8 if fine else 4)
        self._balance = Balance(columns, tau, compile=self._compile, memory=memory // 16)
        self._share = like(row_mass * rows, bank.home, self._type)
        self._fine = fine
        self._reference: Any = None
        self._kept: Any = None
        self._top: Any = None
        self._filled = 0
        self._scratch: Any = None
        self._renewals = 0
        self._in_logs = False
        self._loss: Any = None
        self.error: Any = 0.0

    # -- what the solver calls

    def half_steps(self, g: Any) -> tuple[Any, Any]:
        """Row potentials f (bank,) that answer g, and the columns' tau log sum_u exp((s_uj + f_u) / tau).

        g moves by a constant without changing the plan; it is centred before float32 scores see it, so that no digits
        are spent on the constant.
        """
        level = namespace(g).mean(g)
        f, columns = self._logs(g - level) if self._in_logs else self._scaled(g - level)
        return f - level, columns - level

    def row_error(self, f: Any, g: Any) -> float:
        """sum_u |row sum of the plan - a_u|, from evenly spaced rows when there are many."""
        rows = self.plan.rows
        taken = slices(rows, max(PROBED, rows // 4) if self._filled == rows else PROBED)
        level = namespace(g).mean(g)
        shift = missing = 0.0
        for start in taken.starts.tolist():
            for low, high in self._steps(start, start + taken.height):
                exact = self._tau * log(self._a[low:high]) - self._row_sums(low, high, g - level) - level
                gap = namespace(f).expm1((f[low:high] - exact) / self._tau)
                shift = shift + self._a[low:high] @ abs(gap)
                missing = missing + self._a[low:high].sum()
        return float(shift / missing)

    @property
    def lost(self) -> bool:
        """Whether a device, which is not asked on the way, lost more than may be lost."""
        return self._loss is not None and not float(self._loss) <= WORST_LOSS

    def start_in_logs(self) -> None:
        """For a start all over in which nothing is too small."""
        self._use_logs()
        self._loss, self.error = None, 0.0

    def state(self) -> dict[str, Any]:
        """What a later run needs to go on with the same kernel; arrays and tensors as they are."""
        state: dict[str, Any] = {"passes": np.array([self._in_logs, self._renewals])}
        error = np.array(self.error) if isinstance(self.error, float) else self.error
        parts = {"reference": self._reference, "loss": self._loss, "error": error}
        return state | {name: part for name, part in parts.items() if part is not None}

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Goes on where ``state`` was taken: the same kernel is made again."""
        in_logs, self._renewals = state["passes"].tolist()
        if in_logs:
            self._use_logs()
        self._loss = like(state["loss"], self._bank.home) if "loss" in state else None
        if "reference" in state and self.plan.kept_rows and not self._in_logs:
            self._reference = like(state["reference"], self._bank.home)
            self._pass(self._reference, self._reference)
        self.error = float(state["error"].item())

    # -- in the domain of the kernel

    def _scaled(self, g: Any) -> tuple[Any, Any]:
        if self.plan.kept_rows and self._reference is None:
            self._reference = g
        p = self._reference if self.plan.kept_rows else g
        rounding = 2 * ROUNDING[self.plan.number_bytes] if self._filled else 0.0
        f, columns, loss, reach = self._pass(g, p)
        if not is_numpy(g):
            self._loss = loss if self._loss is None else namespace(g).maximum(self._loss, loss)
        elif not loss <= WORST_LOSS:
            return self._again(g, p)
        self.error = self.error + loss + rounding + self._rounding(reach, balance.SETTLE_ROWS)
        return f, columns

    def _again(self, g: Any, p: Any) -> tuple[Any, Any]:
        """The pass with the kernel made anew around g, or in the log domain when that has not helped."""
        if p is g or self._renewals == RENEWALS:
            self._use_logs()
            return self._logs(g)
        self._forget()
        self._reference = g
        self._renewals += 1
        return self._scaled(g)

    def _rounding(self, reach: Any, settle: int) -> Any:
        """By how much a round may move the logarithm of a sum: scores as large as ``reach``, and sums, in float32.

        A row is added up in several partial sums, a column one row after the other until it is settled in float64.
        """
        in_a_row = balance.PARTIAL_SUMS + self.plan.columns / balance.PARTIAL_SUMS + min(self.plan.rows, settle)
        return ROUNDING[8 if self._fine else 4] * (8 * (reach / self._tau + 1) + in_a_row)

    def _pass(self, g: Any, p: Any) -> tuple[Any, Any, Any, Any]:
        """f, columns, the share of a sum that may have been lost, and how large the scores were that count."""
        xp, tau = namespace(g), self._tau
        rows, columns = self.plan.rows, self.plan.columns
        smallest = SMALLEST[self.plan.number_bytes if self._filled else max(4, self.plan.number_bytes)]
        ahead = xp.max(g - p)
        v = self._typed(xp.exp((g - p - ahead) / tau))
        near = self._typed(p)
        z = xp.empty_like(self._share)
        top = xp.empty_like(self._share)
        mass = xp.zeros_like(g)
        for low, high in self._steps(0, rows):
            a = self._share[low:high]
            if high <= self._filled:
                z[low:high], part = self._balance.from_kernel(self._kept[low:high], v, a)
                top[low:high] = self._top[low:high]
            else:
                scores, kept = self._read(low, high)
                z[low:high], part, top[low:high] = self._balance.from_scores(scores, near, v, a, kept)
                if kept is not None:
                    self._top[low:high] = top[low:high]
                    self._filled = high
            mass += part
            self._tell(high - low)
        with np.errstate(all="ignore"):
            loss = smallest * (columns / xp.min(z) + xp.sum(self._share / z) / xp.min(mass))
        f = tau * (log(self._a) - log(_wide(z))) - _wide(top) - ahead
        reach = _largest(top) + _largest(p)
        return f, tau * (log(mass) - float(np.log(rows))) - p - ahead, loss, reach

    def _read(self, low: int, high: int) -> tuple[Any, Any]:
        """Scores of a block, and where its kernel is to be kept: in the same memory if that can be."""
        keep = high <= self.plan.kept_rows
        if keep and self._kept is None:
            self._kept = self._room(self.plan.kept_rows)
            self._top = namespace(self._share).empty_like(self._share)
        kept = self._kept[low:high] if keep else None
        place = kept if keep and self._type == np.float32 and self.plan.number_bytes == 4 else self._place(high - low)
        return self._given(low, high, place), kept

    def _given(self, low: int, high: int, place: FloatArray | None) -> Any:
        """Scores of a block in the type of the passes; in ``place`` if kernels cannot read them elsewhere."""
        scores = self._typed(self._bank.read(low, high, place))
        if not self._compile or suits(scores) or place is None:
            return scores
        place[...] = scores
        return place

    def _room(self, rows: int) -> Any:
        shape = rows, self.plan.columns
        if self.plan.number_bytes == 2:
            return touched(shape, np.uint16)
        xp = namespace(self._share)
        return touched(shape, self._type) if xp is np else xp.empty(shape, dtype=self._type, device=self._share.device)

    # -- in the log domain

    def _logs(self, g: Any) -> tuple[Any, Any]:
        near = self._typed(g)
        f = namespace(g).empty_like(self._a)
        sums = ColumnSums(self.plan.columns, self._tau, compile=self._compile)
        for low, high in self._steps(0, self.plan.rows):
            scores = self._scores(low, high)
            f[low:high] = self._tau * log(self._a[low:high]) - self._balance.row_sums(scores, near)
            sums.add(scores, f[low:high])
            self._tell(high - low)
        columns = sums.total()
        reach = _largest(f) + _largest(g) + _largest(columns)
        self.error = self.error + self._rounding(reach, logsumexp.SETTLE_ROWS)
        return f, columns

    def _scores(self, low: int, high: int) -> Any:
        """Scores of a block, kept where the plan has room for them."""
        if self._in_logs and high <= self._filled:
            return self._kept[low:high]
        if not self._in_logs or self.plan.number_bytes == 2 or low != self._filled or high > self.plan.kept_rows:
            return self._given(low, high, self._place(high - low))
        scores, kept = self._read(low, high)
        if scores is not kept:
            kept[...] = scores
        self._filled = high
        return kept

    # -- small matters

    def _row_sums(self, low: int, high: int, g: Any) -> Any:
        """tau log sum_j exp((s_uj + g_j) / tau) of some rows."""
        if self._in_logs or high > self._filled:
            return self._balance.row_sums(self._scores(low, high), self._typed(g))
        xp = namespace(g)
        ahead = xp.max(g - self._reference)
        v = self._typed(xp.exp((g - self._reference - ahead) / self._tau))
        z = self._balance.from_kernel(self._kept[low:high], v, self._share[low:high])[0]
        return self._tau * log(_wide(z)) + _wide(self._top[low:high]) + ahead

    def _steps(self, low: int, high: int) -> list[tuple[int, int]]:
        """Rows to do at once: tall steps where a kernel is kept, then blocks of the plan."""
        kept = low if self._in_logs else min(max(low, self._filled), high)
        tall, height = max(1, KEPT_AT_ONCE // self.plan.columns), self.plan.block_rows
        return [
            *((start, min(start + tall, kept)) for start in range(low, kept, tall)),
            *((start, min(start + height, high)) for start in range(kept, high, height)),
        ]

    def _typed(self, x: Any) -> Any:
        return x.astype(self._type, copy=False) if is_numpy(x) else namespace(x).astype(x, self._type, copy=False)

    def _place(self, rows: int) -> FloatArray | None:
        """Scratch for the scores of a block, the same memory every time."""
        if not is_numpy(self._share):
            return None
        if self._scratch is None:
            self._scratch = touched((self.plan.block_rows, self.plan.columns), np.float32)
        scratch: FloatArray = self._scratch[:rows]
        return scratch

    def _use_logs(self) -> None:
        """From here on nothing is too small."""
        self._forget()
        self._in_logs, self._scratch = True, None
        if self.plan.number_bytes == 2:  # scores do not fit in the place of a kernel in 16 bits
            self.plan = plan(*self._bank.shape, self._memory, compiled=self._compile, halves=False)
        self.plan = replace(self.plan, logs=True)

    def _forget(self) -> None:
        """Lets go of what was kept."""
        self._kept = self._top = self._reference = None
        self._filled = 0

    def _tell(self, rows: int) -> None:
        if self._journal is not None:
            self._journal.advance(rows)


def _largest(x: Any) -> Any:
    """The largest number by size; what stands for minus infinity does not count."""
    xp = namespace(x)
    size = abs(x)
    return xp.max(xp.where(size < MASKED, size, xp.zeros_like(size)))


def _wide(x: Any) -> Any:
    return x.astype(np.float64, copy=False) if is_numpy(x) else namespace(x).astype(x, wide(x), copy=False)
