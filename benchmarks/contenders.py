"""What a contender is, and the list of all: unhub, plain NumPy and the peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from problems import Problem


@dataclass(frozen=True)
class Outcome:
    """What a contender gives back: a bias of the gallery, or the ids of the top 10, and a word about how."""

    bias: np.ndarray | None = None
    ids: np.ndarray | None = None
    note: str = ""


Ready = Callable[[], Outcome]
Pair = tuple[np.ndarray, np.ndarray]


def bank_by_targets(problem: Problem) -> Pair:
    """The two sides of the matrix product that most contenders are compared with."""
    return problem.bank, problem.targets


@dataclass(frozen=True)
class Contender:
    """One row of a table.

    prepare: imports, and gives the work to measure. reference: the float64 iterate its bias is compared with.
    ranking: the float64 bias whose top 10 it should find. rival: what it is alternated with in the same process.
    """

    title: str
    prepare: Callable[[Problem], Ready]
    reference: str | None = None
    ranking: str | None = None
    product: Callable[[Problem], Pair] = bank_by_targets
    rival: Callable[[Problem], Ready] | None = None
    remark: str = ""


def contender(key: str) -> Contender:
    """The contender of a key: "unhub:sn", "unhub:sn:64MB" (its memory), "plain:is", "peer:pot"."""
    import ours
    import peers
    import plain

    kind, name, *memory = key.split(":")
    if kind == "unhub":
        return ours.contender(name, memory[0] if memory else None)
    return {"plain": plain.CONTENDERS, "peer": peers.CONTENDERS}[kind][name]
