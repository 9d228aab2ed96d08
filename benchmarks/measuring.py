"""Time and memory of one piece of work, beside the matrix product that is the unit of every table."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LARGEST_PRODUCT = 1 << 29
"""entries of a matrix product that is formed whole (2 GiB); a larger one is timed on some rows and scaled up"""
SHORTEST_LOOK = 6.0
"""seconds: quick work is repeated for at least so long"""
SHORTEST_PRODUCT_LOOK = 0.1
"""seconds: the same for the matrix product, whose first call in a process may have to wake threads"""

Work = Callable[[], object]


WARM = 1 << 28
"""float32 numbers, a gigabyte, that are touched and given back before a large piece of work is timed"""


def warm_memory() -> None:
    """Has the system find a gigabyte of memory: on a virtual machine that takes longer than the work itself would."""
    np.empty(WARM, dtype=np.float32).fill(0)


def timed(work: Work, *, warm: bool = False) -> float:
    """Seconds of one run."""
    if warm:
        warm_memory()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def best_of(runs: int, work: Work) -> float:
    """Seconds of the fastest run."""
    return min(timed(work) for _ in range(runs))


def product_seconds(left: np.ndarray, right: np.ndarray) -> float:
    """Seconds of ``left @ right.T`` in float32; of the first rows, scaled up, where the whole would not fit."""
    rows = max(1, min(len(left), LARGEST_PRODUCT // len(right)))
    part = left[:rows]
    times: list[float] = []
    large = rows * len(right) >= WARM // 16
    while sum(times) < SHORTEST_PRODUCT_LOOK:
        times.append(timed(lambda: part @ right.T, warm=large))
    return min(times) * len(left) / rows


def _status(field: str) -> int | None:
    """Bytes of a line of /proc/self/status, where there is one."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    found = [line for line in lines if line.startswith(field + ":")]
    return int(found[0].split()[1]) * 1024 if found else None


def _lifetime_peak() -> int:
    """Bytes of the largest resident size so far. Linux also counts the parent before exec: the parent stays small."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def peak_memory() -> int:
    """Bytes of the largest resident size since ``memory_now``."""
    return _status("VmHWM") or _lifetime_peak()


def memory_now() -> int:
    """Bytes resident now; the peak is counted anew from here where the system can do that."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak_memory()
    return _status("VmRSS") or _lifetime_peak()


def _busy_seconds() -> float | None:
    """Processor seconds of all processes since the machine started, time taken by other virtual machines included."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except OSError:
        return None
    idle, waiting = ticks[3:5]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")


class Others:
    """How much of the machine other processes took since this was made."""

    def __init__(self) -> None:
        self.began, self.busy, self.own = time.perf_counter(), _busy_seconds(), time.process_time()

    def share(self) -> float | None:
        """Between nothing and one; None where the system does not tell."""
        busy, elapsed = _busy_seconds(), time.perf_counter() - self.began
        if busy is None or self.busy is None:
            return None
        taken = busy - self.busy - (time.process_time() - self.own)
        return min(1.0, max(0.0, taken / (elapsed * (os.cpu_count() or 1))))


@dataclass(frozen=True)
class Measured:
    """What was seen: the fastest run, the products around the runs, and the memory of the first run."""

    seconds: float
    runs: int
    product: float
    products: tuple[float, ...]
    unit: str
    """the shape of that product"""
    extra_bytes: int
    peak_bytes: int
    others: float | None
    """the share of the machine that other processes took meanwhile"""
    rival: float | None = None
    """seconds of the work it was alternated with"""


def measure(
    work: Work, pair: tuple[np.ndarray, np.ndarray], *, rival: Work | None, runs: int, patience: float
) -> Measured:
    """Memory of a first run, then the best of several, with the matrix product before, between and after them."""
    others = Others()
    large = len(pair[0]) * len(pair[1]) >= WARM // 16
    if large:
        warm_memory()
    base = memory_now()
    times = [timed(work)]
    peak = peak_memory()
    rivals = [] if rival is None else [timed(rival, warm=large)]
    products = [product_seconds(*pair)]
    sides = [(work, times)] if rival is None else [(rival, rivals), (work, times)]
    while (len(times) < runs or sum(times) < SHORTEST_LOOK) and sum(times) < patience:
        for each, found in sides:
            found.append(timed(each, warm=large))
        sides.reverse()  # neither is always the first
        if times[-1] > SHORTEST_PRODUCT_LOOK:
            products.append(product_seconds(*pair))
    products.append(product_seconds(*pair))
    return Measured(
        seconds=min(times),
        runs=len(times),
        product=min(products),
        products=tuple(products),
        unit=f"{len(pair[0]):,} x {len(pair[1]):,} x {pair[0].shape[1]}",
        extra_bytes=max(0, peak - base),
        peak_bytes=peak,
        others=others.share(),
        rival=min(rivals, default=None),
    )
