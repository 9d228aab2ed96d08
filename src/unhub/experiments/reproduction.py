"""``reproduce``: the paper's tables and figures of one or several datasets, checked before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from unhub.api.facade import facade, open_dataset
from unhub.dataset import TEST_QUERIES, Dataset
from unhub.experiments import figures as paper_figures
from unhub.experiments.figure_data import FigureData
from unhub.experiments.figures import FigureSettings, radar
from unhub.experiments.paper_tables import paper_table, possible, result_table
from unhub.experiments.protocols import Preset, preset
from unhub.experiments.reference import Comparison, compare, refuse_unknown
from unhub.experiments.result import ResultTable
from unhub.experiments.run import Run
from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import is_network_path, read_json
from unhub.foundation.safe_text import slug
from unhub.foundation.types import Progress
from unhub.foundation.wording import argument, spoken

ALL: Literal["all"] = "all"
FIGURE_FOLDER = "figures"
RADAR = "radar"
RUN = "run.json"
"""what a folder of results says of its run: which experiment file, and how"""
LONGEST_RUN = 1 << 24
"""bytes of it"""

Source = Dataset | str | os.PathLike[str]
"""a dataset, or the path of an experiment file"""


@dataclass(frozen=True, eq=False)
class Plan:
    """The tables and figures of one experiment, and their folder below that of the results."""

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
    """Receives every result as soon as it is computed, such as to write it."""

    def table(self, plan: Plan, table: ResultTable) -> None:
        """A table is finished."""

    def tables_finished(self, plan: Plan) -> None:
        """All tables of an experiment are finished."""

    def figure(self, plan: Plan, figure: FigureData) -> None:
        """The values of a figure are computed."""


@facade
def reproduce(
    data: Source | Sequence[Source],
    tables: str | Sequence[str] | None = None,
    figures: str | Sequence[str] | None = None,
    protocol: str | Preset | None = None,
    bank: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    seed: int = 0,
    compared: bool = False,
    observer: Observer | None = None,
) -> Reproduction:
    """The paper's tables and figures on your data; arguments are checked before anything runs.

    data: a Dataset, the path of an experiment file, or several of them.
    tables: a name or a number of the paper, or several; "all": every possible one, failures are noted; None: the
        first, or none where there are figures.
    figures: the name of a figure whose values are wanted, or several, or "all"; None: none.
    protocol: "auto" (unhub's own defaults), "paper" (the settings that the paper prints) or "authors" (those of its
        authors' scripts); None: "paper" where values are compared with the paper's, otherwise "auto".
    bank: the bank of the figures; None: the test queries are the bank.
    folder: where the points of sweeps are saved; None holds them in memory.
    progress: called with the name of the work, how much is done, and how much there is.
    seed: of what figures draw at random.
    compared: whether values are compared with the paper's.
    observer: receives every result as soon as it is computed.

    Returns a Reproduction: tables, the values of figures, comparisons and notes. ``reports.result_files`` writes it.

    >>> import numpy as np
    >>> scores = np.eye(20) + np.linspace(0, 0.5, 20)
    >>> (table,) = reproduce(Dataset(scores=scores, relevant="aligned")).tables
    >>> table.name, table.protocol, [row.label for row in table.rows]
    ('query-aware', 'auto', ['none', 'is', 'dis', 'sn'])
    """
    sources = list(data) if isinstance(data, Iterable) and not isinstance(data, str) else [data]
    tables, figures = ([each] if isinstance(each, str) and each != ALL else each for each in (tables, figures))
    datasets = [open_dataset(each) for each in sources]
    chosen = preset("paper" if compared and protocol is None else protocol)
    notes: list[str] = []
    runs = [Run(each, chosen, progress) for each in datasets]
    plans = [_plan(run, tables, figures, bank, notes, several=len(runs) > 1) for run in runs]
    if len(plans) > 1 and (folder is not None or observer is not None):
        plans = _with_folders(plans)
    if compared:
        for plan in plans:
            numbers = [number for name in plan.tables for number in paper_table(name).numbers]
            refuse_unknown(*plan.run.names, numbers)
    home = None if folder is None else Path(folder)
    if home is not None:
        home.mkdir(parents=True, exist_ok=True)  # it fails now, or not at all
    results = []
    for plan in plans:
        own = tuple(_tables(plan, notes, observer, strict=tables != ALL))
        comparisons = {table.name: compare(table, paper_table(table.name).numbers) for table in own} if compared else {}
        sweeps = None if home is None else home / plan.folder / FIGURE_FOLDER
        values = tuple(
            _figures(plan, FigureSettings(plan.run, plan.bank, seed, sweeps), notes, observer, strict=figures != ALL)
        )
        results.append(ExperimentResult(plan, own, comparisons, values))
    joint = len(plans) > 1 and any(RADAR in plan.figures for plan in plans)
    both = (radar([plan.run for plan in plans], plans[0].bank),) if joint else ()
    return Reproduction(tuple(results), both, tuple(notes))


def _plan(
    run: Run, tables: Sequence[str] | None, figures: Sequence[str] | None, bank: str | None, notes: list[str],
    *, several: bool,
) -> Plan:  # fmt: skip
    """What to compute of one dataset."""
    data = run.data
    about = f"{', '.join(run.names)}: " if several else ""
    lacking = possible(data)
    names = [name for name, why in lacking.items() if why is None]
    if tables == ALL:
        if lacking["banks"] and data.task_type != "self-retrieval":
            notes.append(f"{about}no table banks: {lacking['banks']}")
    elif tables is not None:
        names = list(dict.fromkeys(paper_table(name).name for name in tables))
    else:
        names = [] if figures else names[:1]
    with data.words():
        bank = data.bank_name(bank or TEST_QUERIES)
        if not names and not figures:
            raise InputError("no table is possible; use unhub.check to see why.")
    if figures == ALL:
        can = paper_figures.possible_figures(data)
        notes += [f"{about}no figure {name}: {why}" for name, why in can.items() if why is not None]
        figures = [name for name, why in can.items() if why is None]
    paper_figures.refuse_lacking(data, figures or ())
    return Plan(run, bank, tuple(names), tuple(figures or ()))


def _with_folders(plans: list[Plan]) -> list[Plan]:
    """The plans with a folder each; an error where two would share one."""
    names = [slug("-".join(plan.run.names)) for plan in plans]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        advice = f"give them another {argument('name')} or {argument('model')}"
        raise InputError(spoken(f"two of the datasets are called {twice}; {advice}.", plans[0].run.data.door()))
    return [replace(plan, folder=name) for plan, name in zip(plans, names, strict=True)]


def _tables(plan: Plan, notes: list[str], observer: Observer | None, *, strict: bool) -> Iterator[ResultTable]:
    """The planned tables; a failure is an error, or where not strict a note unless all fail."""
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


@dataclass(frozen=True)
class RecordedRun:
    """What was run into a folder: the experiment file, the protocol, and the bank of its figures."""

    experiment: Path
    protocol: str
    bank: str | None = None


def recorded_run(folder: Path) -> RecordedRun:
    """The run that ``unhub reproduce -o`` recorded in a folder."""
    file = folder / RUN
    try:
        record = read_json(file, longest=LONGEST_RUN)
        bank, experiment, protocol = record.get("bank"), record["experiment"], str(record["protocol"])
    except FileNotFoundError:
        raise InputError(
            f"{folder} has no {RUN}; name an experiment file, a correction (.unhub), or a folder that unhub reproduce "
            f"wrote."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{file} is damaged; run unhub reproduce again, or name the experiment file.") from None
    if experiment is None:
        raise InputError(f"{file} names no experiment file; its data were arrays in memory. Pass the Dataset itself.")
    experiment = str(experiment)
    if is_network_path(experiment) or not experiment.lower().endswith((".toml", ".yaml", ".yml")):
        raise InputError(f"{file} names {experiment}, which is no experiment file of this machine; name it yourself.")
    return RecordedRun(Path(experiment), protocol, None if bank is None else str(bank))
