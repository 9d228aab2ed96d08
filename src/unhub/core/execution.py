"""Execution: how a computation runs (memory, threads, compiled kernels, clock, executor), one value passed down.

Loading the compiled kernels takes about half a second, once in a process; a problem of a thousand by a thousand is done
before that. The size of a problem alone decides, so that the same call always takes the same path. Only a search, which
sums nothing, also counts the searches before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from unhub.core.arrays import is_numpy
from unhub.foundation.types import FloatArray

DEFAULT_MEMORY = 2 << 30
"""bytes for scores where no bound was given"""


class FitObserver(Protocol):
    """Follows a method of many reads: counts rows, and stores what is needed to go on later."""

    def advance(self, rows: int) -> None:
        """So many more bank rows were read."""

    def load(self) -> dict[str, FloatArray] | None:
        """What was saved last, or None."""

    def save(self, state: Callable[[], dict[str, FloatArray]], rounds: int) -> None:
        """A round is finished; ``state()`` is what is needed to go on from here."""


class Workers(Protocol):
    """Shards that an executor has started; each keeps its state from one call to the next."""

    def map(self, verb: str, *arguments: Any) -> list[Any]:
        """shard.verb(*arguments) of every shard, in the order of the shards."""

    def reduce(self, merge: Callable[[Any, Any], Any], verb: str, *arguments: Any) -> Any:
        """The answers of ``map`` merged pairwise in a tree; the order of the shards is kept."""

    def close(self) -> None:
        """Lets the shards go."""


class Executor(Protocol):
    """Where shards live. Shards are plain objects, picklable when their score source is."""

    @property
    def shards(self) -> int:
        """how many shards to cut a score source into"""

    def start(self, shards: Sequence[Any]) -> Workers:
        """Places the shards where they will work."""


@dataclass(frozen=True)
class LocalWorkers:
    """Shards in this process; ``each`` is ``map``, or the ``map`` of a pool of threads."""

    shards: Sequence[Any]
    each: Callable[..., Iterable[Any]] = map
    end: Callable[[], Any] = lambda: None

    def map(self, verb: str, *arguments: Any) -> list[Any]:
        """shard.verb(*arguments) of every shard, in the order of the shards."""
        return list(self.each(lambda shard: getattr(shard, verb)(*arguments), self.shards))

    def reduce(self, merge: Callable[[Any, Any], Any], verb: str, *arguments: Any) -> Any:
        """The answers of ``map`` merged pairwise in a tree."""
        return merge_tree(merge, self.map(verb, *arguments))

    def close(self) -> None:
        """Lets the threads go, if there are any."""
        self.end()


def merge_tree(merge: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """Neighbours merged until one is left: log2(n) levels, so that rounding errors do not pile up.

    >>> merge_tree(lambda left, right: f"({left}{right})", "abcde")
    '(((ab)(cd))e)'
    """
    while len(parts) > 1:
        pairs = [merge(*parts[at : at + 2]) for at in range(0, len(parts) - 1, 2)]
        parts = [*pairs, *parts[2 * len(pairs) :]]
    return parts[0]


class Demand:
    """Scores that were searched so far: many small searches are worth the compiled kernels as a large one is."""

    def __init__(self) -> None:
        self._scores = 0

    def worth(self, shape: tuple[int, int], small: int) -> bool:
        """Whether this search, with all before it, is worth the kernels; always when they are loaded anyway."""
        self._scores += shape[0] * shape[1]
        return compiled.cache_info().currsize > 0 or self._scores >= small


def suits(scores: Any) -> bool:
    """Whether compiled kernels can read this block: float32 in memory, row after row."""
    return is_numpy(scores) and scores.dtype == np.float32 and bool(scores.flags.c_contiguous)


@cache
def compiled() -> ModuleType | None:
    """The compiled kernels; None where numba is not installed or does not know this interpreter."""
    try:
        from unhub.core import compiled as module
    except ImportError:
        return None
    return module


@dataclass(frozen=True)
class Execution:
    """How a computation runs. Nothing here changes what is computed, beyond rounding.

    memory: bytes for the scores held at once; None is 2 GiB.
    threads: threads that a block is shared between; None is one.
    compiled: whether compiled kernels are used; None lets the size of the problem decide.
    small: scores in a problem below which compiled kernels cost more than they save.
    block_rows: rows of a block; None lets memory and cache decide.
    clock: seconds that only grow, for progress and checkpoints.
    executor: where shards live; None is one shard, here.
    demand: counts searches, so that many small ones are worth compiled kernels; None counts each alone.

    ``unhub.executors.local`` fills in what this machine has.
    """

    memory: int | None = None
    threads: int | None = None
    compiled: bool | None = None
    small: int = 1 << 24
    block_rows: int | None = None
    clock: Callable[[], float] = time.monotonic
    executor: Executor | None = None
    demand: Demand | None = None

    @property
    def bytes(self) -> int:
        """the memory as a number"""
        return DEFAULT_MEMORY if self.memory is None else self.memory

    @property
    def workers(self) -> int:
        """the threads as a number"""
        return self.threads or 1

    def kernels(self, shape: tuple[int, int]) -> ModuleType | None:
        """The compiled kernels, if a problem of so many rows and columns is worth them and they can be had."""
        large = shape[0] * shape[1] >= self.small if self.compiled is None else self.compiled
        return compiled() if large else None

    def search_kernels(self, shape: tuple[int, int]) -> ModuleType | None:
        """As ``kernels``, for work that compares and does not sum: what was asked for before counts too."""
        if self.compiled is None and self.demand is not None and self.demand.worth(shape, self.small):
            return compiled()
        return self.kernels(shape)

    def shards(self, rows: int) -> list[tuple[int, int]]:
        """Ranges of rows, one for each shard of the executor; none is empty."""
        count = 1 if self.executor is None else max(1, min(self.executor.shards, rows))
        return [(rows * part // count, rows * (part + 1) // count) for part in range(count)]

    def part(self, shards: int) -> Execution:
        """What one of so many shards may use, while the others run beside it."""
        if shards == 1 and self.executor is None:
            return self
        memory, threads = max(1, self.bytes // shards), max(1, self.workers // shards)
        return replace(self, memory=memory, threads=threads, executor=None, demand=None)

    def start(self, shards: Sequence[Any]) -> Workers:
        """The shards, placed by the executor."""
        return LocalWorkers(shards) if self.executor is None else self.executor.start(shards)
