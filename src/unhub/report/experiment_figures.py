"""The paper's figures of an experiment: which there are, what each needs, and drawing them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from unhub.experiments import PRESETS, Experiment
from unhub.experiments.result import better
from unhub.experiments.run import Run
from unhub.foundation.errors import InputError
from unhub.report import figures
from unhub.report.figure_drawing import (
    Drawn,
    Shown,
    draw_hub_map,
    draw_hub_queries,
    draw_radar,
    draw_similarity,
    draw_sweep,
    draw_top5,
)

SOURCES = 3
"""banks that a rank correlation needs"""


@dataclass(frozen=True)
class ExperimentFigure:
    """A figure that can be drawn: what it shows, what an experiment lacks for it, if anything, and its drawing."""

    name: str
    what: str
    draw: Callable[[Shown], Drawn]
    lacks: Callable[[Experiment], str | None] = lambda experiment: None


def named(name: str) -> ExperimentFigure:
    """The figure of that name."""
    if name not in FIGURES:
        near = difflib.get_close_matches(name, FIGURES, 1)
        hint = f"did you mean {near[0]}? There" if near else "there"
        raise InputError(f"there is no figure {name!r}; {hint} are {', '.join(FIGURES)}.")
    return FIGURES[name]


def possible(experiment: Experiment) -> dict[str, str | None]:
    """For every figure what an experiment lacks for it, or None if it can be drawn."""
    merged = "settings.group_targets" if "group_targets" in experiment.settings else None
    told = f"{merged} merges targets, and figures show single ones"
    return {name: told if merged else each.lacks(experiment) for name, each in FIGURES.items()}


def refuse_lacking(experiment: Experiment, names: Iterable[str]) -> None:
    """An error where a figure lacks something, which says what."""
    can = possible(experiment)
    for name in names:
        lacking = can[named(name).name]
        if lacking is not None:
            raise InputError(f"{experiment.path}: the figure {name} cannot be drawn: {lacking}.")


def draw(name: str, shown: Shown) -> list[Path]:
    """Draws a figure into the folder, as PDF and PNG for each direction, and gives back the paths."""
    refuse_lacking(shown.run.experiment, [name])
    shown.folder.mkdir(parents=True, exist_ok=True)
    return [path for stem, made in FIGURES[name].draw(shown) for path in figures.save(made, shown.folder / stem)]


def _needs_axes(experiment: Experiment) -> str | None:
    run = Run(experiment, PRESETS["paper"])
    axes = len(run.ways()) * sum(better(name) != 0 for name in run.metrics)
    if axes >= figures.FEWEST_AXES:
        return None
    return f"a radar of one file has an axis for each metric and direction, {axes} here; ask for more dataset.metrics"


def _needs_vectors(experiment: Experiment) -> str | None:
    return None if experiment.vectors else "test has a matrix of scores; name test.queries and test.targets, embeddings"


def _needs_parts(experiment: Experiment) -> str | None:
    return "items are their own bank, of which no part can be drawn" if experiment.task == "self-retrieval" else None


def _needs_sources(experiment: Experiment) -> str | None:
    if experiment.vectors and len(experiment.banks) >= SOURCES:
        return None
    return (
        f"it needs embeddings and {SOURCES} banks, and the file has {len(experiment.banks)}; name others in sections "
        f"such as [banks.other]"
    )


FIGURES = {
    each.name: each
    for each in (
        ExperimentFigure("radar", "every method, on all metrics or over several experiments", draw_radar, _needs_axes),
        ExperimentFigure("similarity", "scores and k-occurrence before and after", draw_similarity),
        ExperimentFigure("tau", "R@1 over the temperature", draw_sweep("tau")),
        ExperimentFigure("bank-size", "four panels over the part of a bank that is used", draw_sweep("bank-size"),
                         _needs_parts),
        ExperimentFigure("bank-source", "R@1 over the distance of banks, with Spearman's rho",
                         draw_sweep("bank-source"), _needs_sources),
        ExperimentFigure("hub-map", "t-SNE of queries, targets and a bank, the hubs labelled", draw_hub_map,
                         _needs_vectors),
        ExperimentFigure("top5", "the five best before and after, for a few queries", draw_top5),
        ExperimentFigure("hub-queries", "the most retrieved target and the queries that get it", draw_hub_queries),
    )
}  # fmt: skip
"""by name"""
