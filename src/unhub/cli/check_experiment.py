"""``unhub check experiment.toml``: every array that the file names, and which tables can be made of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from unhub.cli import console
from unhub.cli.failures import BAD_INPUT
from unhub.foundation.errors import UnhubError

if TYPE_CHECKING:
    from unhub.experiments import Experiment

SCHEMA_VERSION = 1
OTHER = ("relevant", "labels", "target_labels", "query_ids", "target_ids", "captions", "target_captions")
"""parts that are no matrix"""


def check(path: str, *, json: bool) -> None:
    """Opens every part, says its shape or what is wrong with it, and lists the tables."""
    from unhub.experiments import TABLES, possible, read_experiment
    from unhub.experiments.figures import FIGURES, possible_figures

    experiment = read_experiment(path)
    shapes, problems = _looked_at(experiment)
    lacking, undrawn = possible(experiment), possible_figures(experiment)
    if json:
        told = {name: {"can_be_made": why is None, "lacks": why} for name, why in lacking.items()}
        figures = {name: {"can_be_made": why is None, "lacks": why} for name, why in undrawn.items()}
        seen = {"experiment": path, "parts": shapes, "problems": problems, "tables": told, "figures": figures}
        console.data({"schema_version": SCHEMA_VERSION, **seen})
    else:
        console.say(f"{experiment.name}, {experiment.model}: {experiment.task}, {' and '.join(experiment.directions)}")
        console.table(["part", "shape", "file"], _parts(experiment, shapes, problems), left=(0, 2))
        rows = [[name, ", ".join(TABLES[name].numbers), why or "can be made"] for name, why in lacking.items()]
        console.table(["table", "of the paper", ""], rows, left=(0, 1, 2))
        drawn = [[name, figure.description, undrawn[name] or "can be drawn"] for name, figure in FIGURES.items()]
        console.table(["figure", "what it shows", ""], drawn, left=(0, 1, 2))
        can = [name for name, why in lacking.items() if why is None]
        if can and not problems:
            console.say(f"next: {shlex.join(['unhub', 'reproduce', path, '--table', can[0]])}")
    for each in problems:
        console.complain(each)
    if problems:
        raise typer.Exit(BAD_INPUT)


def _looked_at(experiment: Experiment) -> tuple[dict[str, list[int]], list[str]]:
    """The shape of every matrix, and a sentence for every part that cannot be used."""
    from unhub.experiments.sources import relevance_of
    from unhub.experiments.views import sides_of
    from unhub.io import open_rows

    shapes: dict[str, list[int]] = {}
    problems: list[str] = []
    for where, source in experiment.files().items():
        if where.rpartition(".")[2] in OTHER:
            continue
        try:
            shapes[where] = [int(each) for each in open_rows(source, name=where).shape]
        except UnhubError as error:
            problems.append(str(error))
    if not problems:
        problems += _disagreements(experiment, shapes)
    if not problems:
        try:
            sides_of(experiment)
            relevance_of(experiment)
        except UnhubError as error:
            problems.append(str(error))
    return shapes, problems or _unusable(experiment)


def _unusable(experiment: Experiment) -> list[str]:
    """What would be refused when it is run: settings, values, and test queries that are in a bank."""
    from unhub.experiments import preset
    from unhub.experiments.run import ONE_BANK, TWO_BANKS, Run
    from unhub.experiments.sources import refuse_logits, refuse_unusable
    from unhub.metrics import metric
    from unhub.metrics.ranking import tie_policy

    run = Run(experiment, preset("paper"))

    def settings() -> None:
        tie_policy(experiment.settings.get("ties", "average"))
        for name in (*ONE_BANK, *TWO_BANKS):
            run.methods((name,), "forward", banked=True)
        for name in experiment.metrics:
            metric(name)

    def usable(bank: str | None) -> None:
        for way in run.ways(bank).values():
            refuse_unusable(experiment, bank, way)

    test: list[Callable[[], None]] = [settings, partial(usable, None), partial(refuse_logits, experiment)]
    problems = [said for look in test if (said := _said(look)) is not None][:1]  # the first explains the others
    return problems or [said for bank in experiment.banks if (said := _said(partial(usable, bank))) is not None]


def _said(look: Callable[[], None]) -> str | None:
    """What is refused, if anything is."""
    try:
        look()
    except UnhubError as error:
        return str(error)
    return None


def _disagreements(experiment: Experiment, shapes: dict[str, list[int]]) -> list[str]:
    """Embeddings of another dimension, and matrices of another width than the test set's."""
    found = []
    first = "test.targets" if experiment.vectors else "test.scores"
    wanted = shapes[first][1]
    for where, shape in shapes.items():
        part = where.rpartition(".")[2]
        same = experiment.vectors or part in ("scores", "target_scores")
        if same and shape[1] != wanted:
            what = "dimension" if experiment.vectors else "targets"
            found.append(f"{where} has {shape[1]:,} columns but {first} has {wanted:,}; give the same {what}.")
    return found


def _parts(experiment: Experiment, shapes: dict[str, list[int]], problems: list[str]) -> list[list[Any]]:
    """Every part with its shape; of pictures, sounds and videos, how many targets have one."""
    files = experiment.files()
    rows = [[where, " x ".join(f"{each:,}" for each in shapes.get(where, [])), files[where]] for where in files]
    if "media" in experiment.test and not problems:
        from unhub.experiments.views import sides_of

        found = [each is not None for each in sides_of(experiment)[1].media]
        rows.append(["test.media", f"{sum(found):,} of {len(found):,}", experiment.test["media"]])
    return rows
