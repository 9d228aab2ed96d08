"""Which tables there are, which of them an experiment can give, and running them."""

from __future__ import annotations

import difflib
import hashlib
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from unhub.api.progress import Progress
from unhub.experiments import protocols
from unhub.experiments.experiment import SEPARATOR, Experiment
from unhub.experiments.presets import Preset
from unhub.experiments.result import ResultTable
from unhub.experiments.run import Run
from unhub.experiments.sources import refuse_logits
from unhub.experiments.wording import in_file
from unhub.foundation.errors import InputError, UnhubWarning
from unhub.foundation.regular_files import open_regular
from unhub.foundation.version import VERSION

CHUNK = 1 << 22


@dataclass(frozen=True)
class Table:
    """A table that can be made: its name, the paper's numbers for such tables, and what it lacks, if anything."""

    name: str
    numbers: tuple[str, ...]
    what: str
    make: Callable[[Run], ResultTable]
    lacks: Callable[[Experiment], str | None]


def _needs_task(*tasks: str) -> Callable[[Experiment], str | None]:
    def lacks(experiment: Experiment) -> str | None:
        return None if experiment.task in tasks else f"dataset.task is {experiment.task}, not {' or '.join(tasks)}"

    return lacks


def _needs_banks(experiment: Experiment) -> str | None:
    if experiment.task == "self-retrieval":
        return "dataset.task is self-retrieval"
    if not experiment.banks:
        part = "queries, an embedding file" if experiment.vectors else "scores, a matrix of bank x test targets"
        return f"there is no bank; name banks.val.{part}, in the section [banks.val]"
    return None


TABLES = {
    each.name: each
    for each in (
        Table(
            "query-aware",
            ("1", "2", "3", "A1", "A2", "A3", "A4"),
            "the test queries as the bank: none, IS, DIS, SN",
            protocols.query_aware,
            _needs_task("retrieval"),
        ),
        Table(
            "banks", ("4", "A7", "A8", "A9", "A10"), "every bank, with and without its targets", protocols.banks,
            _needs_banks,
        ),
        Table("skewness", ("5",), "skewness of the k-occurrence, all k", protocols.skewness, _needs_task("retrieval")),
        Table("variants", ("6",), "SN beside transport plans", protocols.variants, _needs_task("retrieval")),
        Table(
            "self-retrieval", ("A5",), "items among themselves, self-pairs masked", protocols.query_aware,
            _needs_task("self-retrieval"),
        ),
        Table(
            "classification", ("A6",), "class embeddings as targets", protocols.query_aware,
            _needs_task("classification"),
        ),
    )
}  # fmt: skip
"""by name; the paper's own numbers are other names for them"""


def named(name: str) -> Table:
    """The table of a name or of a number of the paper."""
    for each in TABLES.values():
        if name == each.name or name.upper() in each.numbers:
            return each
    near = difflib.get_close_matches(name, TABLES, 1)
    known = "; ".join(f"{each.name} ({', '.join(each.numbers)})" for each in TABLES.values())
    hint = f"did you mean {near[0]}? There" if near else "there"
    raise InputError(f"there is no table {name!r}; {hint} are {known}.")


def possible(experiment: Experiment) -> dict[str, str | None]:
    """For every table what an experiment lacks for it, or None if it can be run."""
    return {name: each.lacks(experiment) for name, each in TABLES.items()}


def reproduce(
    experiment: Experiment, tables: Iterable[str], preset: Preset, *, progress: Progress | None = None
) -> list[ResultTable]:
    """These tables of an experiment; one that lacks a part is refused with the part that would provide it."""
    return tables_of(Run(experiment, preset, progress), tables)


def tables_of(run: Run, tables: Iterable[str]) -> list[ResultTable]:
    """The same of an experiment at work, so that figures share what the tables computed."""
    experiment = run.experiment
    chosen = list(dict.fromkeys(named(each) for each in tables))
    for each in chosen:
        lacking = each.lacks(experiment)
        if lacking is not None:
            raise InputError(f"{experiment.path}: the table {each.name} cannot be made: {lacking}.")
    refuse_logits(experiment)
    facts = {"unhub": VERSION, "files": hashes(experiment), "settings": dict(experiment.settings)}
    return [_made(each, run, facts) for each in chosen]


def _made(table: Table, run: Run, facts: dict[str, Any]) -> ResultTable:
    """The table; what was warned of on the way is among its notes, each sentence once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnhubWarning)
        made = table.make(run)
    said = dict.fromkeys(in_file(str(each.message)) for each in caught if issubclass(each.category, UnhubWarning))
    for each in caught:
        if not issubclass(each.category, UnhubWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return replace(made, name=table.name, notes=(*made.notes, *said), facts=facts)


def contents(experiment: Experiment) -> dict[str, Any]:
    """All that a result depends on but the protocol: what is in the files, which parts of them, and what is said."""
    parts = {where: source.partition(SEPARATOR)[2] for where, source in experiment.files().items()}
    about = {"task": experiment.task, "modality": experiment.modality, "settings": dict(experiment.settings)}
    return about | {"files": hashes(experiment), "parts": parts}


def hashes(experiment: Experiment) -> dict[str, str]:
    """The SHA-256 of every file that the experiment names, by the place where it does."""
    known: dict[str, str] = {}
    found = {}
    for where, source in experiment.files().items():
        path = source.partition(SEPARATOR)[0]
        if not Path(path).exists():
            continue
        if path not in known:
            known[path] = hash_of(Path(path))
        found[where] = known[path]
    return found


def hash_of(path: Path) -> str:
    """The SHA-256 of a file; of a folder, such as a zarr array, that of its files and their names, in order."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    states = tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    return _digest(path, states)


@lru_cache(maxsize=64)
def _digest(path: Path, states: tuple[tuple[str, int, int], ...]) -> str:
    """Read once for all tables, as long as size and time of the files stay."""
    made = hashlib.sha256()
    for file in (Path(name) for name, *_ in states):
        if file != path:
            made.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        with open_regular(file) as read:
            while chunk := read.read(CHUNK):
                made.update(chunk)
    return made.hexdigest()
