"""What each sweep does: a list of jobs, each of which gives points."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from unhub.experiments.kept import Point
from unhub.experiments.result import QUERY_AWARE
from unhub.experiments.run import Run
from unhub.experiments.sources import bank_parts, evaluated, rows_of, score_spread
from unhub.foundation.errors import UnhubWarning
from unhub.foundation.types import IntArray
from unhub.methods import Method, method, settings
from unhub.metrics import emd

METRICS = ("R@1", "skew@1", "skew@10")
TAUS = tuple(float(each) for each in np.linspace(0.005, 0.025, 9))
RELATIVE = (1 / 12, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 1.0, 1.5, 2.0)
"""of the standard deviation of the scores, where temperatures follow it"""
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
ROUNDS = (1, 2, 3, 5, 10, 20, 50, 100)
RATIOS = tuple(2.0**-each for each in range(3, 11))
TO_TARGETS, TO_QUERIES = "EMD to targets", "EMD to test queries"
BANK_QUERIES = "queries in the bank"

Job = tuple[str, Callable[[], list[Point]]]


@dataclass(frozen=True)
class Asked:
    """A sweep of one experiment: with which bank, how often drawn anew, and whether temperatures follow the scores."""

    run: Run
    bank: str | None
    rounds: int
    seed: int
    relative: bool
    way: str = "forward"
    """or reverse: the targets ask, and the banks change places"""

    @property
    def reverse(self) -> bool:
        """Whether the targets ask."""
        return self.way == "reverse"

    @property
    def dual(self) -> bool:
        """Whether the bank has targets, so that DBSN can learn from it."""
        return self.bank is not None and self.run.experiment.has_targets(self.bank)

    def methods(self, *names: str) -> list[Method]:
        """These methods, as the preset has them; DBSN only where the bank has targets."""
        wanted = tuple(name for name in names if name != "dbsn" or self.dual)
        return self.run.methods(wanted, self.way, banked=self.bank is not None)

    def points(
        self, at: float, chosen: list[Method], *, round: int = 0, arrays: dict[str, Any] | None = None,
        bank: str | None = None, label: str = "", more: dict[str, float] | None = None,
    ) -> list[Point]:  # fmt: skip
        """A point for each of these methods; ``more`` are values that belong to all of them."""
        its, name = self.run.experiment, bank or self.bank
        with warnings.catch_warnings():  # a sweep goes where a temperature does not suit
            warnings.filterwarnings("ignore", r"tau1? = ", UnhubWarning)
            done = evaluated(
                its, self.run.preset, chosen, direction=self.way, metrics=METRICS, bank=name, arrays=arrays
            )
        return [
            Point(
                at, round, name or QUERY_AWARE, row.method, {**row.values, **(more or {})}, row.intervals.get("R@1"),
                dict(row.settings), label,
            )
            for row in done.rows.values()
        ]  # fmt: skip


def _none(asked: Asked) -> Job:
    return "none", lambda: asked.points(0.0, asked.methods("none"))


def _each(asked: Asked, places: tuple[float, ...], field: str, names: tuple[str, ...]) -> Iterator[Job]:
    """A job for each value of one hyper-parameter."""

    def job(value: float, given: float) -> list[Point]:
        chosen = [method(each, cast(Any, {field: given})) for each in asked.methods(*names) if field in settings(each)]
        return asked.points(value, chosen)

    for value in places:
        given = round(value) if field == "iterations" else value
        yield f"{field}={value:.6g}", partial(job, value, given)


def tau(asked: Asked) -> Iterator[Job]:
    """IS, SN and, with a bank of targets, DBSN at nine temperatures."""
    yield _none(asked)
    places = TAUS
    if asked.relative:
        std = score_spread(asked.run.experiment)
        places = tuple(std * each for each in RELATIVE)
    yield from _each(asked, places, "tau", ("is", "sn", "dbsn"))


def strength(asked: Asked) -> Iterator[Job]:
    """How much of the bias is added."""
    yield _none(asked)
    yield from _each(asked, STRENGTHS, "strength", ("is", "sn", "dbsn"))


def iterations(asked: Asked) -> Iterator[Job]:
    """How many rounds SN and DBSN take."""
    yield _none(asked)
    yield from _each(asked, tuple(float(each) for each in ROUNDS), "iterations", ("sn", "dbsn"))


def bank_size(asked: Asked) -> Iterator[Job]:
    """Random parts of a bank, drawn anew in each round, with how far they are from the targets and the queries."""
    its = asked.run.experiment
    parts = bank_parts(its, asked.bank, reverse=asked.reverse)
    yield _none(asked)

    def job(ratio: float, turn: int) -> list[Point]:
        rng = np.random.default_rng([asked.seed, turn, round(1 / ratio)])
        rows = _drawn(rng, parts.queries, ratio)
        others = None if parts.targets is None else _drawn(rng, parts.targets, ratio)
        arrays = parts.only(rows, others)
        drawn = arrays.get("target_bank" if asked.reverse else "query_bank")
        chosen = asked.methods("is", "sn", "dbsn")
        more = {} if drawn is None else _distances(asked, drawn)
        more |= {BANK_QUERIES: float(len(others) if asked.reverse and others is not None else len(rows))}
        return asked.points(ratio, chosen, round=turn, arrays=arrays, more=more)

    for turn in range(asked.rounds):
        for ratio in RATIOS:
            yield f"{ratio:.6g}, round {turn}", partial(job, ratio, turn)


def bank_source(asked: Asked) -> Iterator[Job]:
    """Every bank of the file: how far its queries are from the test queries, and what it gives."""
    its = asked.run.experiment
    yield _none(asked)

    def job(name: str) -> list[Point]:
        part = "targets" if asked.reverse else "queries"
        far = _distances(asked, rows_of(its.banks[name][part], f"banks.{name}.{part}"))
        names = ("is", "sn", *(("dbsn",) if its.has_targets(name) else ()))
        chosen = asked.run.methods(names, asked.way, banked=True)
        return asked.points(far[TO_QUERIES], chosen, bank=name, label=name, more=far)

    for name in sources(asked.run, asked.way):
        yield name, partial(job, name)


def sources(run: Run, way: str) -> list[str]:
    """The banks of the file that serve a direction."""
    return [name for name in run.experiment.banks if way in run.ways(name).values()]


def _drawn(rng: np.random.Generator, count: int, ratio: float) -> IntArray:
    """Some of so many rows, in order."""
    return np.sort(rng.choice(count, min(count, max(1, round(ratio * count))), replace=False))


def _distances(asked: Asked, bank: Any) -> dict[str, float]:
    """How far the bank's side that asks is from the gallery, and from those that ask in the test."""
    test = asked.run.experiment.test
    targets = rows_of(test["targets"], "test.targets")
    queries = rows_of(test.get("queries", test["targets"]), "test.queries")
    gallery, asking = (queries, targets) if asked.reverse else (targets, queries)
    far = {TO_TARGETS: gallery, TO_QUERIES: asking}
    return {name: emd(bank, rows, seed=asked.seed).value for name, rows in far.items()}


SWEEPS: dict[str, Callable[[Asked], Iterator[Job]]] = {
    "tau": tau,
    "bank-size": bank_size,
    "bank-source": bank_source,
    "strength": strength,
    "iterations": iterations,
}
