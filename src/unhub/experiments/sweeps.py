"""Sweeps: what a temperature, the size of a bank, its source, the strength or the rounds do.

Each is a list of jobs whose points are kept as they come, so that an interrupted sweep goes on.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from unhub.api.progress import Progress
from unhub.experiments.experiment import Experiment
from unhub.experiments.kept import KeptPoints, Point
from unhub.experiments.presets import Preset
from unhub.experiments.result import QUERY_AWARE
from unhub.experiments.run import Run
from unhub.experiments.running import contents
from unhub.experiments.sources import bank_parts, evaluated, refuse_logits, rows_of, score_spread
from unhub.foundation.errors import InputError, UnhubWarning
from unhub.foundation.file_names import slug
from unhub.foundation.types import IntArray
from unhub.foundation.version import VERSION
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

    for name in _sources(asked.run, asked.way):
        yield name, partial(job, name)


SWEEPS: dict[str, Callable[[Asked], Iterator[Job]]] = {
    "tau": tau,
    "bank-size": bank_size,
    "bank-source": bank_source,
    "strength": strength,
    "iterations": iterations,
}


def sweep(
    experiment: Experiment,
    over: str,
    preset: Preset,
    *,
    bank: str | None = None,
    direction: str | None = None,
    rounds: int = 5,
    seed: int = 0,
    relative: bool = False,
    folder: Path | None = None,
    anew: bool = False,
    progress: Progress | None = None,
) -> list[Point]:
    """The points of a sweep; with a folder, finished ones are kept there and not made again.

    bank: the bank of the file that is learnt from; without one, the test queries are the bank. direction: a name that
    the file gives one of its directions; without one, the first, from queries to targets. anew: points of other files
    or settings that are kept in the folder are replaced, not an error.
    """
    run = Run(experiment, preset)
    _refuse(experiment, over, bank)
    way = _way(run, over, bank, direction)
    if not (relative and over == "tau"):
        refuse_logits(experiment)
    about = {"over": over, "protocol": preset.name, "bank": bank, "rounds": rounds, "seed": seed, "relative": relative}
    about |= {"direction": way, "unhub": VERSION, **contents(experiment)}
    stem = sweep_stem(experiment, over, direction, bank)
    kept = KeptPoints(None if folder is None else folder / f"{stem}.jsonl", about, anew=anew)
    jobs = list(SWEEPS[over](Asked(run, bank, rounds, seed, relative, way)))
    for done, (name, make) in enumerate(jobs):
        if progress is not None:
            progress(f"{over}: {name}", done, len(jobs))
        if name not in kept.jobs:
            kept.add(name, make())
    return [point for name, _ in jobs for point in kept.jobs[name]]


def sweep_stem(experiment: Experiment, over: str, direction: str | None, bank: str | None) -> str:
    """What the files of a sweep are called: by what it goes over, the direction, and the bank if it has one.

    A sweep over sources has all banks.
    """
    parts = (direction or experiment.directions[0], *((bank,) if bank and over != "bank-source" else ()))
    return ".".join((over, *map(slug, parts)))


def sweep_ways(run: Run, over: str, bank: str | None) -> dict[str, str]:
    """The directions of the file that a sweep can go in, forward or reverse by the file's names."""
    ways = run.ways(bank)
    if over == "bank-size" and bank is None and not run.experiment.vectors:
        return dict([*ways.items()][:1])  # a part of a matrix's columns is no bank
    if over == "bank-source":
        ways = run.ways()
        return {title: way for title, way in ways.items() if len(_sources(run, way)) > 1}
    return ways


def _sources(run: Run, way: str) -> list[str]:
    """The banks of the file that serve a direction."""
    return [name for name in run.experiment.banks if way in run.ways(name).values()]


def _way(run: Run, over: str, bank: str | None, direction: str | None) -> str:
    its = run.experiment
    known = its.directions if its.both_ways else its.directions[:1]
    if direction is None:
        return "forward"
    if direction not in known:
        raise InputError(f"{its.path}: there is no direction {direction!r}; it has {' and '.join(known)}.")
    ways = sweep_ways(run, over, bank)
    if direction not in ways:
        raise InputError(
            f"{its.path}: a sweep over {over} cannot go {direction}; that takes embeddings, and banks with targets, "
            f"which are the queries of that direction."
        )
    return ways[direction]


def _refuse(experiment: Experiment, over: str, bank: str | None) -> None:
    if over not in SWEEPS:
        near = difflib.get_close_matches(over, SWEEPS, 1)
        hint = f"did you mean {near[0]}? There" if near else "there"
        raise InputError(f"there is no sweep over {over!r}; {hint} are {', '.join(SWEEPS)}.")
    if bank is not None and bank not in experiment.banks:
        known = ", ".join(experiment.banks) or "none"
        raise InputError(f"{experiment.path}: there is no bank {bank!r}; it has {known}.")
    if over == "bank-size" and experiment.task == "self-retrieval":
        raise InputError(
            f"{experiment.path}: a sweep over bank-size cannot be made of self-retrieval: items are their own bank, of "
            f"which no part can be drawn."
        )
    if over == "bank-source" and (not experiment.vectors or len(experiment.banks) < 2):
        raise InputError(
            f"{experiment.path}: a sweep over bank-source needs embeddings and at least two banks; name them in "
            f"sections such as [banks.val] and [banks.train]."
        )


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
