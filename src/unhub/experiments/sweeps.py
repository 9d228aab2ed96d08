"""Sweeps over temperature, bank size, bank source, strength and iterations; an interrupted one continues."""

from __future__ import annotations

import os
from pathlib import Path

from unhub.api.facade import facade, open_dataset
from unhub.dataset import TEST_QUERIES, Dataset
from unhub.experiments.protocols import Preset, preset
from unhub.experiments.run import Run
from unhub.experiments.sweep_cache import Point, SweepCache
from unhub.experiments.sweep_jobs import SWEEPS, SweepSettings, sources
from unhub.foundation import VERSION
from unhub.foundation.errors import InputError
from unhub.foundation.safe_text import slug
from unhub.foundation.types import Progress
from unhub.foundation.wording import no_such


@facade
def sweep(
    data: Dataset | str | os.PathLike[str],
    over: str = "tau",
    protocol: str | Preset | None = None,
    *,
    bank: str | None = None,
    direction: str | None = None,
    rounds: int = 5,
    seed: int = 0,
    relative: bool | None = None,
    folder: str | os.PathLike[str] | None = None,
    anew: bool = False,
    progress: Progress | None = None,
) -> list[Point]:
    """The points of a sweep; with a folder, finished ones are saved there, and an interrupted sweep continues.

    data: a Dataset, or the path of an experiment file.
    over: "tau", "bank-size", "bank-source", "strength" or "iterations".
    protocol: "auto" (the default: unhub's own), "paper" (the settings that the paper prints) or "authors" (those of its
        authors' scripts).
    bank: the name of a bank; None: the test queries are the bank.
    direction: the name of a direction; None: the first, from queries to targets.
    rounds: how often parts of a bank are drawn.
    seed: of the draws.
    relative: whether temperatures follow the spread of the scores; None: unless the protocol is a published one.
    folder: where finished points are saved; None saves none.
    anew: replace saved points of other files or settings instead of refusing them.
    progress: called with the name of the work, how much is done, and how much there is.

    Returns a Point for each place and method.

    >>> import numpy as np
    >>> scores = np.eye(20) + np.linspace(0, 0.5, 20)
    >>> points = sweep(Dataset(scores=scores, relevant="aligned"), "strength")
    >>> [point.method for point in points[:3]], points[0].values["R@1"]
    (['none', 'is', 'sn'], 100.0)
    """
    return run_sweep(
        Run(open_dataset(data), preset(protocol), progress), over, bank, direction,
        rounds=rounds, seed=seed, relative=relative, folder=folder, anew=anew,
    )  # fmt: skip


def run_sweep(
    run: Run, over: str, bank: str | None, direction: str | None, *, rounds: int, seed: int,
    relative: bool | None = None, folder: str | os.PathLike[str] | None = None, anew: bool = False,
) -> list[Point]:  # fmt: skip
    """The points of a sweep of a run; arguments as in ``sweep``."""
    data = run.data
    relative = not run.preset.published if relative is None else relative
    with data.words():
        bank = data.bank_name(bank or TEST_QUERIES)
        _refuse(data, over)
        way = _way(run, over, bank, direction)
    if not (relative and over == "tau"):
        run.refuse_scores()
    about = {"over": over, "protocol": run.preset.name, "bank": bank, "rounds": rounds, "seed": seed}
    about |= {"relative": relative, "direction": way, "unhub": VERSION, **run.contents}
    stem = sweep_stem(data, over, direction, bank)
    cache = SweepCache(None if folder is None else Path(folder) / f"{stem}.jsonl", about, anew=anew)
    jobs = list(SWEEPS[over](SweepSettings(run, bank, rounds, seed, relative, way)))
    for at, (name, points) in enumerate(jobs):
        if run.progress is not None:
            run.progress(f"{over}: {name}", at, len(jobs))
        if name not in cache.jobs:
            cache.add(name, points())
    return [point for name, _ in jobs for point in cache.jobs[name]]


def sweep_stem(data: Dataset, over: str, direction: str | None, bank: str | None) -> str:
    """The name of a sweep's files: what it goes over, the direction, and the bank; one over sources has all banks."""
    parts = (direction or data.directions[0], *((bank,) if bank and over != "bank-source" else ()))
    return ".".join((over, *map(slug, parts)))


def sweep_ways(run: Run, over: str, bank: str | None) -> dict[str, str]:
    """The directions that a sweep can go in: name -> "forward" or "reverse"."""
    ways = run.data.directions_of(bank if over != "bank-source" else None)
    if over == "bank-size" and bank is None and run.data.kind == "scores":
        return dict([*ways.items()][:1])  # some columns of a matrix are no bank
    if over == "bank-source":
        return {title: way for title, way in ways.items() if len(sources(run, way)) > 1}
    return ways


def _way(run: Run, over: str, bank: str | None, direction: str | None) -> str:
    known = run.data.directions_of()
    if direction is None:
        return "forward"
    if direction not in known:
        raise InputError("direction", f"is {direction!r}", f"use one of {', '.join(known)}")
    ways = sweep_ways(run, over, bank)
    if direction not in ways:
        raise InputError(
            f"a sweep over {over} cannot go {direction}; that needs embeddings, and banks with targets, which are the "
            f"queries of that direction."
        )
    return ways[direction]


def _refuse(data: Dataset, over: str) -> None:
    if over not in SWEEPS:
        raise InputError(no_such("sweep over", over, SWEEPS))
    if over == "bank-size" and data.task_type == "self-retrieval":
        raise InputError("a sweep over bank-size is not possible for self-retrieval: items are their own bank.")
    if over == "bank-source" and (data.kind == "scores" or len(data.banks) < 2):
        raise InputError("a sweep over bank-source needs embeddings and at least two banks.")
