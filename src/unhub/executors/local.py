"""Executors of this machine, and what it has for a computation: memory, processors, room for the compiler."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from unhub.core.execution import Demand, Execution, Executor, LocalWorkers, Workers
from unhub.executors.free_memory import free_memory, processors, room_for_compiler
from unhub.foundation.errors import InputError

LEAST_MEMORY = 32 << 20
"""bytes that are taken even when hardly any are free: fewer would make a fit slower, not safer"""

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}

_SEARCHES = Demand()
"""searches of this process"""

_PLAIN = Execution()
_can_compile = cache(room_for_compiler)


@dataclass(frozen=True)
class Inline:
    """Runs shards one after the other in the caller's thread; one shard by default."""

    shards: int = 1

    def start(self, shards: Sequence[Any]) -> Workers:
        """The shards as they are."""
        return LocalWorkers(shards)


@dataclass(frozen=True)
class Threads:
    """Runs each shard on its own thread; by default there are as many shards as processors."""

    shards: int = field(default_factory=processors)

    def start(self, shards: Sequence[Any]) -> Workers:
        """The shards, each with a thread that waits for its calls."""
        pool = ThreadPoolExecutor(len(shards), thread_name_prefix="unhub-shard")
        return LocalWorkers(shards, pool.map, pool.shutdown)


def local(executor: Execution | Executor | None = None, *, memory: str | int | None = None) -> Execution:
    """An execution with this machine's resources wherever nothing was chosen.

    executor: settings of execution, or an executor for the shards, or None.
    memory: bytes for scores, if ``executor`` does not say; None leaves it open.
    """
    base = executor if isinstance(executor, Execution) else _PLAIN
    return Execution(  # not by replace, which would be a good part of the time of a small search
        memory=memory_bytes(memory) if base.memory is None and memory is not None else base.memory,
        threads=base.threads or processors(),
        compiled=base.compiled if _can_compile() else False,
        small=base.small,
        block_rows=base.block_rows,
        clock=base.clock,
        executor=base.executor if base is executor else executor,  # type: ignore[arg-type]
        demand=base.demand or _SEARCHES,
    )


def memory_bytes(memory: str | int | None) -> int:
    """Bytes from a number or from words such as "64MB" and "2 GiB"; None is what this machine can spare.

    >>> memory_bytes("64MB"), memory_bytes(1024)
    (64000000, 1024)
    """
    if memory is None:
        return default_memory()
    if type(memory) is int and memory > 0:
        return memory
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(memory))
    if parts is None or parts[2].lower() not in UNITS or float(parts[1]) <= 0:
        raise InputError("memory", f"is {memory!r}", "give a size such as '64MB' or '2GB' (units: B, kB, MB, GB, TB)")
    return int(float(parts[1]) * UNITS[parts[2].lower()])


@cache
def default_memory() -> int:
    """Half of the memory that was free at the first call; the limits of a container and of ulimit count."""
    return usable(free_memory())


def usable(free: int) -> int:
    """The part of the free memory that a computation takes."""
    return max(LEAST_MEMORY, free // 2)
