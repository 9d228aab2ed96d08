"""Sweeps: what a temperature, the size of a bank, its source, the strength or the rounds do.

Each is a list of jobs whose points are kept as they come, so that an interrupted sweep goes on.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from unhub.experiments.experiment import Experiment, read_experiment
from unhub.experiments.hashes import contents
from unhub.experiments.presets import Preset, preset
from unhub.experiments.run import Run
from unhub.experiments.sources import refuse_logits
from unhub.experiments.sweep_cache import Point, SweepCache
from unhub.experiments.sweep_jobs import SWEEPS, SweepSettings, sources
from unhub.foundation import VERSION
from unhub.foundation.errors import InputError
from unhub.foundation.safe_text import slug
from unhub.foundation.types import Progress


def sweep(
    data: Experiment | str | os.PathLike[str],
    over: str = "tau",
    protocol: str | Preset = "paper",
    *,
    bank: str | None = None,
    direction: str | None = None,
    rounds: int = 5,
    seed: int = 0,
    relative: bool = False,
    folder: str | os.PathLike[str] | None = None,
    anew: bool = False,
    progress: Progress | None = None,
) -> list[Point]:
    """The points of a sweep; with a folder, finished ones are kept there, and an interrupted sweep goes on.

    data: an experiment, or the path of its file.
    over: "tau", "bank-size", "bank-source", "strength" or "iterations".
    protocol: "paper" for the settings that the paper prints, "authors" for those of its authors' scripts.
    bank: the bank of the file to learn from; None: the test queries are the bank.
    direction: a name that the file gives one of its directions; None: the first, from queries to targets.
    rounds: how often parts of a bank are drawn.
    seed: of what is drawn.
    relative: whether temperatures follow the spread of the scores.
    folder: where finished points are kept; None keeps none.
    anew: whether kept points of other files or settings are replaced instead of refused.
    progress: is called with what is done, how much is finished, and how much there is.

    Returns a point for each place and method.
    """
    experiment = data if isinstance(data, Experiment) else read_experiment(data)
    chosen = protocol if isinstance(protocol, Preset) else preset(protocol)
    run = Run(experiment, chosen)
    _refuse(experiment, over, bank)
    way = _way(run, over, bank, direction)
    if not (relative and over == "tau"):
        refuse_logits(experiment)
    about = {"over": over, "protocol": chosen.name, "bank": bank, "rounds": rounds, "seed": seed, "relative": relative}
    about |= {"direction": way, "unhub": VERSION, **contents(experiment)}
    stem = sweep_stem(experiment, over, direction, bank)
    cache = SweepCache(None if folder is None else Path(folder) / f"{stem}.jsonl", about, anew=anew)
    jobs = list(SWEEPS[over](SweepSettings(run, bank, rounds, seed, relative, way)))
    for done, (name, make) in enumerate(jobs):
        if progress is not None:
            progress(f"{over}: {name}", done, len(jobs))
        if name not in cache.jobs:
            cache.add(name, make())
    return [point for name, _ in jobs for point in cache.jobs[name]]


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
        return {title: way for title, way in ways.items() if len(sources(run, way)) > 1}
    return ways


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
