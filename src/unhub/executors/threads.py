"""Threads: shards side by side in this process, each with its part of the memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from unhub.core.execution import LocalWorkers, Workers


def processors() -> int:
    """How many threads to use: one for each processor that this process may run on, OMP_NUM_THREADS at the most."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wish = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(found, int(wish)) if wish.isascii() and wish.isdigit() and int(wish) > 0 else found


@dataclass(frozen=True)
class Threads:
    """Runs each shard on a thread of its own; as many shards as processors unless a number is given."""

    shards: int = field(default_factory=processors)

    def start(self, shards: Sequence[Any]) -> Workers:
        """The shards, each with a thread that waits for its calls."""
        pool = ThreadPoolExecutor(len(shards), thread_name_prefix="unhub-shard")
        return LocalWorkers(shards, pool.map, pool.shutdown)
