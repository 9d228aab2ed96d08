"""``reproduce``: the paper's tables and figures of one or several experiments, checked before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from unhub.experiments import figures as paper_figures
from unhub.experiments.experiment import Experiment, read_experiment
from unhub.experiments.figure_data import FigureData
from unhub.experiments.figures import FigureSettings, radar
from unhub.experiments.presets import Preset, preset
from unhub.experiments.protocols import named, possible, result_table
from unhub.experiments.reference.comparison import Comparison, compare, refuse_unknown
from unhub.experiments.result import ResultTable
from unhub.experiments.run import Run
from unhub.foundation.errors import InputError
from unhub.foundation.safe_text import slug
from unhub.foundation.types import Progress

ALL: Literal["all"] = "all"
FIGURE_FOLDER = "figures"
RADAR = "radar"

Source = Experiment | str | os.PathLike[str]
"""an experiment, or the path of its file"""


@dataclass(frozen=True, eq=False)
class Plan:
    """One experiment: the tables and figures to make of it, and the folder below the results' where they belong."""

    run: Run
    bank: str | None
    tables: tuple[str, ...]
    figures: tuple[str, ...]
    folder: str = ""


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """The tables of one experiment, their comparisons with the paper by table, and the values of its figures."""

    plan: Plan
    tables: tuple[ResultTable, ...]
    comparisons: Mapping[str, Sequence[Comparison]]
    figures: tuple[FigureData, ...]


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The results of every experiment, the figures over all of them, and notes on what was left out."""

    experiments: tuple[ExperimentResult, ...]
    figures: tuple[FigureData, ...]
    notes: tuple[str, ...]

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """The tables of all experiments."""
        return tuple(table for each in self.experiments for table in each.tables)


class Observer(Protocol):
    """Is told of every result as soon as it is there, such as to write it."""

    def table(self, plan: Plan, table: ResultTable) -> None:
        """A table is finished."""

    def tables_finished(self, plan: Plan) -> None:
        """All tables of an experiment are finished."""

    def figure(self, plan: Plan, figure: FigureData) -> None:
        """The values of a figure are there."""


def reproduce(
    data: Source | Sequence[Source],
    tables: Sequence[str] | Literal["all"] | None = None,
    figures: Sequence[str] | Literal["all"] | None = None,
    protocol: str | Preset = "paper",
    bank: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    seed: int = 0,
    compared: bool = False,
    observer: Observer | None = None,
) -> Reproduction:
    """The paper's tables and figures on data of one's own; nothing runs before every mistake that shows has been found.

    data: an experiment, the path of its file, or several of them.
    tables: names or the paper's numbers; "all" makes every possible one and notes failures; None makes the first, or
        none where there are figures.
    figures: names of figures whose values are wanted, or "all"; None makes none.
    protocol: "paper" for the settings that the paper prints, "authors" for those of its authors' scripts.
    bank: the bank of the figures; None: the test queries are the bank.
    folder: where the points of sweeps are kept; None keeps them in memory.
    progress: is called with what is done, how much is finished, and how much there is.
    seed: of what figures draw at random.
    compared: whether values are compared with the paper's.
    observer: is told of every result as soon as it is there.

    Returns the tables, the values of the figures, the comparisons and notes; ``report.write_reproduction`` writes them.
    """
    sources = [data] if isinstance(data, Experiment | str | os.PathLike) else list(data)
    experiments = [each if isinstance(each, Experiment) else read_experiment(each) for each in sources]
    chosen = protocol if isinstance(protocol, Preset) else preset(protocol)
    notes: list[str] = []
    plans = _distinct(
        [
            _planned(Run(each, chosen, progress), tables, figures, bank, notes, several=len(sources) > 1)
            for each in experiments
        ],
        required=folder is not None or observer is not None,
    )
    if compared:
        for plan in plans:
            numbers = [number for name in plan.tables for number in named(name).numbers]
            refuse_unknown(plan.run.experiment.name, plan.run.experiment.model, numbers)
    home = None if folder is None else Path(folder)
    if home is not None:
        home.mkdir(parents=True, exist_ok=True)  # it fails now, or not at all
    results = []
    for plan in plans:
        made = tuple(_tables(plan, notes, observer, strict=tables != ALL))
        comparisons = {table.name: compare(table, named(table.name).numbers) for table in made} if compared else {}
        settings = FigureSettings(plan.run, bank, seed, None if home is None else home / plan.folder / FIGURE_FOLDER)
        drawn = tuple(_figures(plan, settings, notes, observer, strict=figures != ALL))
        results.append(ExperimentResult(plan, made, comparisons, drawn))
    joint = len(plans) > 1 and any(RADAR in plan.figures for plan in plans)
    return Reproduction(tuple(results), (radar([plan.run for plan in plans], bank),) if joint else (), tuple(notes))


def _planned(
    run: Run, tables: Sequence[str] | None, figures: Sequence[str] | None, bank: str | None, notes: list[str],
    *, several: bool,
) -> Plan:  # fmt: skip
    """What will be made of one experiment."""
    experiment = run.experiment
    about = f"{experiment.name}, {experiment.model}: " if several else ""
    for name in figures if figures not in (None, ALL) else ():
        paper_figures.named_figure(name)
    lacking = possible(experiment)
    names = [name for name, why in lacking.items() if why is None]
    if tables == ALL:
        if lacking["banks"] and experiment.task != "self-retrieval":
            notes.append(f"{about}no table banks: {lacking['banks']}")
    elif tables is not None:
        names = list(dict.fromkeys(named(name).name for name in tables))
    else:
        names = [] if figures else names[:1]
    if not names and not figures:
        raise InputError(f"{experiment.path}: no table can be made of it; see unhub check {experiment.path}.")
    if bank is not None and bank not in experiment.banks:
        known = ", ".join(experiment.banks) or "none"
        raise InputError(f"{experiment.path}: there is no bank {bank!r}; it has {known}.")
    if figures == ALL:
        can = paper_figures.possible_figures(experiment)
        notes += [f"{about}no figure {name}: {why}" for name, why in can.items() if why is not None]
        figures = [name for name, why in can.items() if why is None]
    paper_figures.refuse_lacking(experiment, figures or ())
    return Plan(run, bank, tuple(names), tuple(figures or ()))


def _distinct(plans: list[Plan], *, required: bool) -> list[Plan]:
    """The plans with a folder each where there are several; an error where two would share one."""
    if len(plans) < 2 or not required:
        return plans
    names = [slug(f"{plan.run.experiment.name}-{plan.run.experiment.model}") for plan in plans]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two of the files are called {twice}; give them another dataset.name or dataset.model.")
    return [replace(plan, folder=name) for plan, name in zip(plans, names, strict=True)]


def _tables(plan: Plan, notes: list[str], observer: Observer | None, *, strict: bool) -> Iterator[ResultTable]:
    """Every table that is planned; a failure is an error, or where not strict a note unless all fail."""
    failures: list[InputError] = []
    for name in plan.tables:
        try:
            table = result_table(name, plan.run)
        except InputError as error:
            if strict:
                raise
            failures.append(error)
            notes.append(f"no table {name}: {error}")
            continue
        if observer is not None:
            observer.table(plan, table)
        yield table
    if failures and len(failures) == len(plan.tables):
        raise failures[0]
    if observer is not None:
        observer.tables_finished(plan)


def _figures(
    plan: Plan, settings: FigureSettings, notes: list[str], observer: Observer | None, *, strict: bool
) -> Iterator[FigureData]:
    for at, name in enumerate(plan.figures):
        if plan.run.progress is not None:
            plan.run.progress(f"figure {name}", at, len(plan.figures))
        try:
            for figure in paper_figures.figure_data(name, settings):
                if observer is not None:
                    observer.figure(plan, figure)
                yield figure
        except InputError as error:
            if strict:
                raise
            notes.append(f"no figure {name}: {error}")
