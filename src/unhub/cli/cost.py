"""Roughly what a fit would take, from the sizes and from a small product that is timed here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unhub.banks import Bank
from unhub.core.blocks import divided, memory_bytes

PASSES = 11
"""reads of the scores by sn and dbsn: ten rounds and one to measure the error"""

PROBE = (256, 2048)
"""bank rows and targets of the product that is timed"""


@dataclass(frozen=True)
class Cost:
    """Bytes of the whole score matrix and of the blocks at work, and seconds for ten rounds of Sinkhorn."""

    whole: int
    blocks: int
    kept: bool
    """whether the scores fit in the memory bound and are computed once"""
    seconds: float

    def sentence(self, bank: int, gallery: int, dim: int | None) -> str:
        """The cost in words."""
        product = f"{bank:,} x {gallery:,}" + (f" x {dim}" if dim is not None else "")
        once = "kept, so computed once" if self.kept else "too many to keep, so read again in each round"
        return (
            f"a fit reads {product}: {_bytes(self.whole)} of scores ({once}), {_bytes(self.blocks)} at a time, "
            f"{_duration(self.seconds)}"
        )


def cost(bank: Bank, dim: int | None, memory: str | int | None) -> Cost:
    """The cost of ten rounds of Sinkhorn on this bank; dim is None when the scores exist already."""
    rows, columns = bank.shape
    _, kept = divided(memory_bytes(memory))
    whole = rows * columns * 4
    fits = dim is None or whole <= kept // 2
    folding, multiplying = _per_score(dim)
    seconds = rows * columns * (PASSES * folding + (1 if fits else PASSES) * multiplying)
    return Cost(whole, min(rows, bank.block_rows) * columns * 4, fits, seconds)


def _per_score(dim: int | None) -> tuple[float, float]:
    """Seconds for each score of a Sinkhorn round (an exponential and two sums), and of a product of this dimension."""
    height, width = PROBE
    scores = np.zeros(PROBE, dtype=np.float32)
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


def _bytes(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "in less than a second"
    if seconds < 90:
        return f"in roughly {seconds:.0f} seconds"
    return f"in roughly {seconds / 60:.0f} minutes" if seconds < 5400 else f"in roughly {seconds / 3600:.0f} hours"
