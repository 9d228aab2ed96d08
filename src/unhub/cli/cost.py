"""What a fit would do and take: the plan, from the sizes, and the time, from small pieces of work timed here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unhub.core.plan import Plan, for_scores, in_words, plan
from unhub.executors import local, memory_bytes

ROUNDS = 10
"""rounds of sn and dbsn"""

PROBE = (1024, 2048)
"""bank rows, as many as the plan takes at once if that is fewer, and targets of the product that is timed"""

FOLDING = 0.1
"""time of a compiled pass over scores, as a share of NumPy's exponentials of them"""


@dataclass(frozen=True)
class Cost:
    """Bytes of the whole score matrix, the plan for ten rounds of Sinkhorn, and its seconds."""

    whole: int
    plan: Plan
    seconds: float

    def sentence(self, dim: int | None) -> str:
        """The size and the time in words."""
        product = f"{self.plan.rows:,} x {self.plan.columns:,}" + (f" x {dim}" if dim is not None else "")
        return f"a fit of sn or dbsn reads {product}, {in_words(self.whole)} of scores, {_duration(self.seconds)}"


def cost(rows: int, columns: int, dim: int | None, memory: str | int | None, *, double: bool = False) -> Cost:
    """The cost of ten rounds of Sinkhorn on a bank of this shape; dim is None when the scores exist already.

    double: the scores are float64, and stay so.
    """
    compiled = not double and local().kernels((rows, columns)) is not None
    chosen = plan(rows, columns, for_scores(memory_bytes(memory)), compiled=compiled, number_bytes=8 if double else 4)
    exponentials, multiplying = _per_score(dim, min(PROBE[0], chosen.block_rows))
    folding = exponentials * (FOLDING if compiled else 1)
    seconds = rows * columns * chosen.products(ROUNDS) * (multiplying + folding) + ROUNDS * rows * columns * 2e-10
    return Cost(rows * columns * 4, chosen, seconds)


def _per_score(dim: int | None, height: int) -> tuple[float, float]:
    """Seconds for each score of an exponential and two sums, and of a product of so many rows at once."""
    width = PROBE[1]
    scores = np.zeros((height, width), dtype=np.float32)
    folding = _timed(lambda: np.exp(scores).sum(axis=0) + np.exp(scores).sum())
    if dim is None:
        return folding / scores.size, 0.0
    left, right = np.ones((height, dim), dtype=np.float32), np.ones((width, dim), dtype=np.float32)
    return folding / scores.size, _timed(lambda: left @ right.T) / scores.size


def _timed(call: Callable[[], object]) -> float:
    """The fastest of three calls, in seconds."""
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "in less than a second"
    if seconds < 90:
        return f"in roughly {seconds:.0f} seconds"
    return f"in roughly {seconds / 60:.0f} minutes" if seconds < 5400 else f"in roughly {seconds / 3600:.0f} hours"
