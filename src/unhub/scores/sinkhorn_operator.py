"""SinkhornOperator: the half-steps that Sinkhorn's alternation needs, over the shards of a bank.

Shards answer a step with partial sums (`unhub.scores.sinkhorn_shard`); here they are merged, and

    columns_j = tau log sum_u exp((s_uj + f_u) / tau) = tau log mass_j - p_j.

``error`` is a bound on what rounding and numbers too small to be kept may have cost: scores are rounded relative to
their size over tau, sums relative to how many numbers are added in sequence. When the bound would be too wide, the
kernel is computed again around the current potentials. If that does not help, the step runs in the log domain, where
nothing is too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from unhub.core import logsumexp, sinkhorn_kernel
from unhub.core.arrays import concatenate, is_numpy, like, namespace
from unhub.core.execution import Execution, FitObserver
from unhub.core.logsumexp import LARGE_TAU, ColumnSums, log
from unhub.core.plan import for_scores, plan
from unhub.foundation.types import FloatArray, IntArray
from unhub.scores.sinkhorn_shard import ROUNDING, KernelSums, LogSums, SinkhornShard, size
from unhub.scores.source import ScoreSource
from unhub.scores.spread import slices, spread
from unhub.scores.views import rows as rows_of

PROBED = 2048
"""rows that the marginal error is measured on, at least; a quarter of them where the kernel is kept"""

WORST_LOSS = 1e-6
"""share of a sum that may be lost because its terms are too small to be kept"""

RENEWALS = 2
"""how often a kernel is computed again, around the current potentials, before the log domain takes over"""


class SinkhornOperator:
    """Both half-steps of every round; ``plan`` says what is kept, ``error`` bounds the loss, in units of tau.

    source: bank x columns. row_mass: a (bank,), of sum one. largest: the largest score by size, if it is known.
    """

    def __init__(
        self,
        source: ScoreSource,
        tau: float,
        row_mass: FloatArray,
        execution: Execution,
        *,
        observer: FitObserver | None = None,
        largest: float | None = None,
    ) -> None:
        self._source, self._tau, self._execution = source, tau, execution
        large = spread(source).largest if largest is None else largest
        xp = namespace(source.array_like)
        self._fine = tau > LARGE_TAU * large or source.read(0, 1).dtype == xp.float64
        quick = is_numpy(source.array_like) and not self._fine and execution.kernels(source.shape) is not None
        self._compiled = quick
        self.plan = self._plan(number_bytes=8 if self._fine else 4)
        rows, a = source.shape[0], like(row_mass, source.array_like)
        ranges = execution.shards(rows)
        self._shards = len(ranges)
        advance = None if observer is None else _one_at_a_time(observer.advance)
        how: Any = {"scale": rows, "fine": self._fine, "quick": quick, "advance": advance}
        how["execution"] = execution.part(len(ranges))
        shards = [
            SinkhornShard(
                rows_of(source, low, high), a[low:high], tau, self.plan.part(high - low, len(ranges)), first=low, **how
            )
            for low, high in ranges
        ]
        self._workers = execution.start(shards)
        self._reference: Any = None
        self._renewals = 0
        self._in_logs = False
        self._kept_rows = 0
        self._loss: Any = None
        self.error: Any = 0.0

    # -- what the solver calls

    @property
    def array_like(self) -> Any:
        """an array of the library, and on the device, that potentials are to be in"""
        return self._source.array_like

    def half_steps(self, g: Any) -> tuple[Any, Any]:
        """Row potentials f (bank,) that answer g, and the columns' tau log sum_u exp((s_uj + f_u) / tau).

        g moves by a constant without changing the plan; it is centred before float32 scores see it, so that no digits
        are spent on the constant.
        """
        level = namespace(g).mean(g)
        f, columns = self._in_log_domain(g - level) if self._in_logs else self._with_kernel(g - level)
        return f - level, columns - level

    def row_error(self, f: Any, g: Any) -> float:
        """sum_u |row sum of the plan - a_u|, from evenly spaced rows when there are many."""
        rows = self.plan.rows
        starts, height = slices(rows, max(PROBED, rows // 4) if self._kept_rows == rows else PROBED)
        level = namespace(g).mean(g)
        arguments = f, g, level, self._reference, starts, height
        shift, probed = self._workers.reduce(_sums, "row_error", *arguments)
        return float(shift / probed)

    def columns_without(self, g: Any, part_of: IntArray) -> Any:
        """tau log sum_u exp((s_uj + f_u) / tau) over the rows that are not in a part, for each part, from one read.

        g: (columns, parts). part_of: (bank,) the part of each row, -1 for none. Up to a constant for each part.
        """
        xp = namespace(g)
        g = g - xp.mean(g, axis=0)
        if not self._in_logs:
            p = self._reference if self.plan.kept_rows and self._reference is not None else xp.mean(g, axis=1)
            mass = self._workers.reduce(_added, "mass_without", g, p, part_of)
            if bool(xp.all(mass > 0)) and bool(xp.all(xp.isfinite(mass))):
                return self._tau * log(mass) - p[:, None]
        sums: list[ColumnSums] = self._workers.reduce(_merged, "logs_without", g, part_of)
        return xp.stack([each.total() for each in sums], axis=1)

    def close(self) -> None:
        """Releases the shards."""
        self._workers.close()

    @property
    def lost(self) -> bool:
        """Whether a device, which is not asked during the rounds, lost more than allowed."""
        return self._loss is not None and not float(self._loss) <= WORST_LOSS

    def start_in_logs(self) -> None:
        """Prepares a fresh start in the log domain."""
        self._use_logs()
        self._loss, self.error = None, 0.0

    def state(self) -> dict[str, Any]:
        """What a later run needs to resume with the same kernel; arrays and tensors as they are."""
        state: dict[str, Any] = {"passes": np.array([self._in_logs, self._renewals])}
        error = np.array(self.error) if isinstance(self.error, float) else self.error
        parts = {"reference": self._reference, "loss": self._loss, "error": error}
        return state | {name: part for name, part in parts.items() if part is not None}

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Resumes from ``state``: the same kernel is computed again."""
        in_logs, self._renewals = state["passes"].tolist()
        if in_logs:
            self._use_logs()
        self._loss = like(state["loss"], self._source.array_like) if "loss" in state else None
        if "reference" in state and self.plan.kept_rows and not self._in_logs:
            self._reference = like(state["reference"], self._source.array_like)
            self._kept_rows = self._step(self._reference, self._reference).kept
        self.error = float(state["error"].item())

    # -- in the domain of the kernel

    def _with_kernel(self, g: Any) -> tuple[Any, Any]:
        if self.plan.kept_rows and self._reference is None:
            self._reference = g
        p = self._reference if self.plan.kept_rows else g
        sums = self._step(g, p)
        xp = namespace(g)
        with np.errstate(all="ignore"):
            loss = sums.row_loss + sums.column_loss / xp.min(sums.mass)
        self._kept_rows = sums.kept
        if not is_numpy(g):
            self._loss = loss if self._loss is None else xp.maximum(self._loss, loss)
        elif not loss <= WORST_LOSS:
            return self._again(g, p)
        rounding = sums.rounding + self._rounding(sums.size + size(p), sinkhorn_kernel.SETTLE_ROWS)
        self.error = self.error + loss + rounding
        columns = self._tau * (log(sums.mass) - float(np.log(self.plan.rows))) - p - xp.max(g - p)
        return _in_order(sums.f), columns

    def _step(self, g: Any, p: Any) -> KernelSums:
        sums: KernelSums = self._workers.reduce(KernelSums.merge, "step", g, p)
        return sums

    def _again(self, g: Any, p: Any) -> tuple[Any, Any]:
        """The step with a new kernel around g, or in the log domain if that has not helped."""
        if p is g or self._renewals == RENEWALS:
            self._use_logs()
            return self._in_log_domain(g)
        self._workers.map("forget")
        self._reference, self._kept_rows = g, 0
        self._renewals += 1
        return self._with_kernel(g)

    def _rounding(self, reach: Any, settle: int) -> Any:
        """By how much a round may move the logarithm of a sum: scores as large as ``reach``, and sums, in float32.

        A row is added up in several partial sums, a column one row after the other until it is settled in float64.
        """
        partial = sinkhorn_kernel.PARTIAL_SUMS
        in_a_row = partial + self.plan.columns / partial + min(self.plan.rows, settle)
        return ROUNDING[8 if self._fine else 4] * (8 * (reach / self._tau + 1) + in_a_row)

    # -- in the log domain

    def _in_log_domain(self, g: Any) -> tuple[Any, Any]:
        sums: LogSums = self._workers.reduce(LogSums.merge, "log_step", g)
        f, columns = _in_order(sums.f), sums.columns.total()
        self._kept_rows = sums.kept
        self.error = self.error + self._rounding(size(f) + size(g) + size(columns), logsumexp.SETTLE_ROWS)
        return f, columns

    def _use_logs(self) -> None:
        """Every later step runs in the log domain."""
        self._in_logs, self._reference, self._kept_rows = True, None, 0
        if self.plan.number_bytes == 2:  # scores do not fit where a 16-bit kernel was
            self.plan = self._plan(halves=False)
        self.plan = replace(self.plan, logs=True)
        self._workers.map("use_logs", self.plan, self._shards)

    def _plan(self, *, number_bytes: int = 4, halves: bool = True) -> Any:
        memory, at_most = for_scores(self._execution.bytes), self._execution.block_rows
        how = {"compiled": self._compiled, "number_bytes": number_bytes, "halves": halves, "at_most": at_most}
        return plan(*self._source.shape, memory, **how)  # type: ignore[arg-type]


def _in_order(parts: tuple[tuple[int, Any], ...]) -> Any:
    return concatenate([part for _, part in sorted(parts, key=lambda part: part[0])])


def _sums(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any]:
    return left[0] + right[0], left[1] + right[1]


def _added(left: Any, right: Any) -> Any:
    return left + right


def _merged(left: Any, right: Any) -> Any:
    return [mine.merge(other) for mine, other in zip(left, right, strict=True)]


def _one_at_a_time(advance: Callable[[int], None]) -> Callable[[int], None]:
    """The callback with a lock around it: shards may call it from several threads."""
    lock = Lock()

    def call(rows: int) -> None:
        with lock:
            advance(rows)

    return call
