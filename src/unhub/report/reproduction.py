"""Tables and figures of one or several experiments, checked before anything runs, and written as they are made."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from unhub.api.progress import Progress
from unhub.experiments import Experiment, Preset, ResultTable, possible, preset, read_experiment
from unhub.experiments.comparing import Compared, compare, refuse_unknown
from unhub.experiments.run import Run
from unhub.experiments.running import named, tables_of
from unhub.explore.opening import RUN
from unhub.foundation.errors import InputError
from unhub.foundation.file_names import slug
from unhub.foundation.optional import installed
from unhub.foundation.version import VERSION
from unhub.report import experiment_figures, result_files
from unhub.report.figure_drawing import Shown, radar
from unhub.report.figures import save
from unhub.report.latex_tables import latex

RADAR = "radar"


@dataclass(frozen=True)
class Wanted:
    """What is asked for: tables and figures by name, or all; the bank of the figures; values beside the paper's."""

    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    every: bool = False
    bank: str | None = None
    seed: int = 0
    compared: bool = False
    command: str = ""
    """that asks for it, to be noted beside the results"""


@dataclass(eq=False)
class Reproduced:
    """What came of one experiment."""

    experiment: Experiment
    tables: list[ResultTable]
    compared: dict[str, list[Compared]]
    figures: list[Path] = field(default_factory=list)


@dataclass(eq=False)
class Reproduction:
    """What came of all, and what is to be said about it."""

    experiments: list[Reproduced]
    notes: list[str]


@dataclass(frozen=True)
class _Plan:
    """One experiment, what will be made of it, and where it goes."""

    run: Run
    tables: tuple[str, ...]
    figures: tuple[str, ...]
    folder: Path | None


def reproduced(
    files: Sequence[str], wanted: Wanted, protocol: str, folder: Path | None, progress: Progress | None = None
) -> Reproduction:
    """Makes what is wanted of every file; with a folder everything is written there, figures too."""
    notes: list[str] = []
    plans = _planned(files, wanted, preset(protocol), folder, progress, notes)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)  # it fails now, or not at all
    done = [_made(plan, wanted, notes) for plan in plans]
    if folder is not None and len(plans) > 1:
        _together(plans, done, folder, wanted)
    return Reproduction(done, notes)


def _planned(
    files: Sequence[str], wanted: Wanted, chosen: Preset, folder: Path | None, progress: Progress | None,
    notes: list[str],
) -> list[_Plan]:  # fmt: skip
    """What will be made; every mistake that can be seen beforehand is found here."""
    for name in wanted.figures:
        experiment_figures.named(name)
    plans = []
    for file in files:
        experiment = read_experiment(file)
        about = f"{experiment.name}, {experiment.model}: " if len(files) > 1 else ""
        lacking = possible(experiment)
        can = [name for name, why in lacking.items() if why is None]
        if wanted.every and not wanted.tables and lacking["banks"] and experiment.task != "self-retrieval":
            notes.append(f"{about}no table banks: {lacking['banks']}")
        tables = wanted.tables or tuple(can if wanted.every else () if wanted.figures else can[:1])
        if not tables and not wanted.figures:
            raise InputError(f"{experiment.path}: no table can be made of it; see unhub check {file}.")
        if wanted.compared:
            refuse_unknown(experiment.name, experiment.model, [one for each in tables for one in named(each).numbers])
        if wanted.bank is not None and wanted.bank not in experiment.banks:
            known = ", ".join(experiment.banks) or "none"
            raise InputError(f"{experiment.path}: there is no bank {wanted.bank!r}; it has {known}.")
        figures = wanted.figures
        if not figures and wanted.every and folder is not None:
            figures = _all_figures(experiment, about, notes)
        experiment_figures.refuse_lacking(experiment, figures)
        plans.append(_Plan(Run(experiment, chosen, progress), tables, figures, folder))
    if len(plans) > 1 and folder is not None:
        names = [slug(f"{plan.run.experiment.name}-{plan.run.experiment.model}") for plan in plans]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"two of the files are called {twice}; give them another dataset.name or dataset.model.")
        plans = [_Plan(each.run, each.tables, each.figures, folder / at) for each, at in zip(plans, names, strict=True)]
    return plans


def _all_figures(experiment: Experiment, about: str, notes: list[str]) -> tuple[str, ...]:
    if not installed("matplotlib"):
        notes.append("no figures: they need matplotlib; install it with: pip install 'unhub[figures]'")
        return ()
    can = experiment_figures.possible(experiment)
    notes += [f"{about}no figure {name}: {why}" for name, why in can.items() if why is not None]
    return tuple(name for name, why in can.items() if why is None)


def _made(plan: _Plan, wanted: Wanted, notes: list[str]) -> Reproduced:
    """Each table is written as soon as it is made; one that is not asked for by name may fail, and that is told."""
    done = Reproduced(plan.run.experiment, [], {})
    failed: list[InputError] = []
    for name in plan.tables:
        try:
            (table,) = tables_of(plan.run, [name])
        except InputError as error:
            if not wanted.every:
                raise
            failed.append(error)
            notes.append(f"no table {name}: {error}")
            continue
        done.tables.append(table)
        if wanted.compared:
            done.compared[table.name] = compare(table, named(table.name).numbers)
        if plan.folder is not None:
            (plan.folder / RUN).unlink(missing_ok=True)  # until all tables are of this run
            result_files.write(table, plan.run.experiment, plan.folder)
    if failed and not done.tables:
        raise failed[0]
    if plan.folder is not None:
        write_run(plan.run, wanted, plan.folder)
        done.figures += _drawn(plan, plan.folder / "figures", wanted, notes, done.tables)
    return done


def write_run(run: Run, wanted: Wanted, folder: Path) -> Path:
    """Notes which file was run and how, so that ``unhub report FOLDER`` finds it; without it the tables are not all of
    one run.
    """
    told = {
        "experiment": str(run.experiment.path),
        "protocol": run.preset.name,
        "bank": wanted.bank,
        "command": wanted.command,
        "unhub": VERSION,
    }
    folder.mkdir(parents=True, exist_ok=True)
    return result_files.write_text(folder / RUN, json.dumps(told, indent=2, ensure_ascii=False) + "\n")


def _drawn(plan: _Plan, folder: Path, wanted: Wanted, notes: list[str], tables: list[ResultTable]) -> Iterator[Path]:
    shown = Shown(plan.run, folder, wanted.bank, wanted.seed)
    with _once(note for table in tables for note in table.notes):
        for at, name in enumerate(plan.figures):
            if plan.run.progress is not None:
                plan.run.progress(f"figure {name}", at, len(plan.figures))
            try:
                yield from experiment_figures.draw(name, shown)
            except InputError as error:
                if not wanted.every:
                    raise
                notes.append(f"no figure {name}: {error}")


@contextmanager
def _once(told: Iterable[str]) -> Iterator[None]:
    """Each warning is heard once, and not at all if a table has it among its notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    heard = set(told)
    for each in caught:
        if str(each.message) not in heard:
            heard.add(str(each.message))
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _together(plans: list[_Plan], done: list[Reproduced], folder: Path, wanted: Wanted) -> None:
    """Tables of the same kind side by side, and one radar over all experiments."""
    kinds = dict.fromkeys(table.name for each in done for table in each.tables)
    for name in kinds:
        same = [table for each in done for table in each.tables if table.name == name]
        result_files.write_text(folder / f"{name}.tex", latex(same) + "\n")
    if any(RADAR in plan.figures for plan in plans):
        save(radar([plan.run for plan in plans], wanted.bank), folder / RADAR)
