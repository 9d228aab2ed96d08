"""The jobs of each sweep; each job gives points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from unhub.dataset import Bank
from unhub.dataset.galleries import take
from unhub.experiments.result import QUERY_AWARE
from unhub.experiments.run import Run
from unhub.experiments.sweep_cache import Point
from unhub.foundation.types import IntArray
from unhub.methods import Method, method, method_class, settings
from unhub.metrics import emd
from unhub.scores import spread

METHODS = ("is", "sn", "dbsn")
METRICS = ("R@1", "skew@1", "skew@10")
TAUS = tuple(float(each) for each in np.linspace(0.005, 0.025, 9))
RELATIVE = (1 / 12, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 1.0, 1.5, 2.0)
"""of the standard deviation of the scores, where temperatures follow it"""
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
ROUNDS = (1, 2, 3, 5, 10, 20, 50, 100)
RATIOS = tuple(2.0**-each for each in range(3, 11))
TO_TARGETS, TO_QUERIES = "EMD to targets", "EMD to test queries"
BANK_QUERIES = "queries in the bank"
PART = "part"
"""the name of a bank that is drawn from the test queries"""
BANK_VECTORS, BANK_MATRICES = ("queries", "targets"), ("scores", "cross_scores", "target_scores")

Job = tuple[str, Callable[[], list[Point]]]


@dataclass(frozen=True)
class SweepSettings:
    """A sweep of one run: its bank, how often parts are drawn, and whether temperatures follow the scores."""

    run: Run
    bank: str | None
    rounds: int
    seed: int
    relative: bool
    way: str = "forward"
    """or reverse: queries and targets change places"""

    @property
    def reverse(self) -> bool:
        """Whether queries and targets change places."""
        return self.way == "reverse"

    def methods(self, *names: str, bank: str | None = None) -> list[Method]:
        """These methods as the protocol has them; those that need a target bank only where there is one."""
        bank = bank or self.bank
        dual = bank is not None and self.run.data.banks[bank].has_targets
        wanted = tuple(name for name in names if dual or not method_class(name).requires)
        return self.run.methods(wanted, self.way, banked=bank is not None)

    def points(
        self, at: float, chosen: list[Method], *, round: int = 0, part: Bank | None = None,
        bank: str | None = None, label: str = "", more: dict[str, float] | None = None,
    ) -> list[Point]:  # fmt: skip
        """A point for each of these methods; part: replaces the bank. more: values that belong to all of them."""
        data, name = self.run.data, bank or self.bank
        if part is not None:
            data = data.with_bank(name or PART, part)
            data.allow_overlap |= name is None  # a part of the test queries is their bank
        evaluation = self.run.evaluate(
            chosen, self.way, METRICS, bank=name if part is None else name or PART, data=data
        )
        return [
            Point(
                at, round, name or QUERY_AWARE, row.method, {**row.values, **(more or {})}, row.intervals.get("R@1"),
                dict(row.settings), label,
            )
            for row in evaluation.rows.values()
        ]  # fmt: skip

    def uncorrected(self) -> Job:
        """The job with no correction, which every sweep begins with."""
        return "none", lambda: self.points(0.0, self.methods("none"))


def _hyper_parameter(name: str, places: Sequence[float], sweep: SweepSettings) -> Iterator[Job]:
    """IS, SN and, with a bank of targets, DBSN at each value of a hyper-parameter that they have.

    Rounds are compared at one strength, 1 unless the settings have another: the guard would hide what more of them do.
    """
    yield sweep.uncorrected()
    given = sweep.run.data.settings.get("strength", 1.0)
    fixed = {"strength": given} if name == "iterations" and given != "auto" else {}
    if name == "tau" and sweep.relative:
        std = spread(sweep.run.data.test_scores()).std
        places = [std * each for each in RELATIVE]

    def job(value: float) -> list[Point]:
        methods = [each for each in sweep.methods(*METHODS) if name in settings(each)]
        return sweep.points(float(value), [method(each, cast(Any, {**fixed, name: value})) for each in methods])

    for value in places:
        yield f"{name}={value:.6g}", partial(job, value)


def bank_size(sweep: SweepSettings) -> Iterator[Job]:
    """Random parts of a bank, drawn anew in each round, with their distances to the targets and the queries."""
    yield sweep.uncorrected()
    whole = _whole_bank(sweep)
    first = whole.queries if whole.scores is None else whole.scores
    sizes = 0 if first is None else len(first), _target_count(whole)

    def job(ratio: float, turn: int) -> list[Point]:
        rng = np.random.default_rng([sweep.seed, turn, round(1 / ratio)])
        rows = _draw(rng, sizes[0], ratio)
        others = None if sizes[1] is None else _draw(rng, sizes[1], ratio)
        part = _part(whole, rows, others)
        drawn = part.targets if sweep.reverse else part.queries
        more = {} if drawn is None else _distances(sweep, drawn)
        more |= {BANK_QUERIES: float(len(others) if sweep.reverse and others is not None else len(rows))}
        return sweep.points(ratio, sweep.methods(*METHODS), round=turn, part=part, more=more)

    for turn in range(sweep.rounds):
        for ratio in RATIOS:
            yield f"{ratio:.6g}, round {turn}", partial(job, ratio, turn)


def bank_source(sweep: SweepSettings) -> Iterator[Job]:
    """Every bank: how far its queries are from the test queries, and what it gives."""
    yield sweep.uncorrected()

    def job(name: str) -> list[Point]:
        far = _distances(sweep, sweep.run.data.rows("targets" if sweep.reverse else "queries", name))
        chosen = sweep.methods(*METHODS, bank=name)
        return sweep.points(far[TO_QUERIES], chosen, bank=name, label=name, more=far)

    for name in sources(sweep.run, sweep.way):
        yield name, partial(job, name)


def sources(run: Run, way: str) -> list[str]:
    """The banks that serve a direction."""
    own = [name for name, bank in run.data.banks.items() if bank.own_queries]
    return [name for name in own if way in run.data.directions_of(name).values()]


def _whole_bank(sweep: SweepSettings) -> Bank:
    """The opened bank that parts are drawn from; without one, the test queries, or in reverse the test targets."""
    data = sweep.run.data
    if sweep.bank is not None:
        names = BANK_VECTORS if data.kind == "vectors" else BANK_MATRICES
        parts = {part: data.rows(part, sweep.bank) for part in names}
        asking = parts[names[0]]
        return Bank(**parts, weights=data.weights(sweep.bank, 0 if asking is None else len(asking)))
    if data.kind == "scores":
        return Bank(scores=data.rows("scores"))
    return Bank(targets=data.rows("targets")) if sweep.reverse else Bank(queries=data.rows("queries"))


def _target_count(bank: Bank) -> int | None:
    return len(bank.targets) if bank.targets is not None else getattr(bank.cross_scores, "shape", (0, None))[1]


def _part(bank: Bank, rows: IntArray, others: IntArray | None) -> Bank:
    """These queries and these targets of a bank."""
    parts: dict[str, Any] = {"weights": None if bank.weights is None else bank.weights[rows]}
    for part in (*BANK_VECTORS, *BANK_MATRICES):
        whole = getattr(bank, part)
        if whole is not None:
            chosen = others if part in ("targets", "target_scores") else rows
            assert chosen is not None
            block = take(whole, chosen)
            parts[part] = block[:, others] if part == "cross_scores" else block
    return Bank(**parts)


def _draw(rng: np.random.Generator, count: int, ratio: float) -> IntArray:
    return np.sort(rng.choice(count, min(count, max(1, round(ratio * count))), replace=False))


def _distances(sweep: SweepSettings, bank: Any) -> dict[str, float]:
    """How far the asking side of the bank is from the gallery, and from the asking side of the test set."""
    gallery, asking = ("queries", "targets") if sweep.reverse else ("targets", "queries")
    far: dict[str, Any] = {TO_TARGETS: sweep.run.data.rows(gallery), TO_QUERIES: sweep.run.data.rows(asking)}
    return {name: emd(np.asarray(bank[:]), np.asarray(rows[:]), seed=sweep.seed).value for name, rows in far.items()}


SWEEPS: dict[str, Callable[[SweepSettings], Iterator[Job]]] = {
    "tau": partial(_hyper_parameter, "tau", TAUS),
    "bank-size": bank_size,
    "bank-source": bank_source,
    "strength": partial(_hyper_parameter, "strength", STRENGTHS),
    "iterations": partial(_hyper_parameter, "iterations", ROUNDS),
}
