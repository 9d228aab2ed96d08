"""The paper's figures of an experiment: which there are, what each needs, and the values to draw."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from unhub.api.evaluation import Evaluation
from unhub.experiments.experiment import Experiment
from unhub.experiments.figure_data import (
    FEWEST_AXES,
    FigureData,
    HubMapData,
    HubQueriesData,
    Item,
    QueryResults,
    RadarAxis,
    RadarData,
    SimilarityData,
    SweepData,
    TopResultsData,
)
from unhub.experiments.presets import PRESETS
from unhub.experiments.result import better, metric_title, series_name
from unhub.experiments.run import Run
from unhub.experiments.sources import rows_of
from unhub.experiments.sweeps import sweep, sweep_stem, sweep_ways
from unhub.experiments.views import View, some_scores, views
from unhub.foundation.errors import InputError
from unhub.foundation.safe_text import slug
from unhub.io import open_rows
from unhub.metrics import metric

SOURCES = 3
"""banks that a rank correlation needs"""
K = 10
"""the depth at which a target counts as retrieved; 1 where there are fewer than ``FEW`` times as many targets"""
FEW = 5
CROWD = 800
"""points of each kind on a map"""
ROWS = 200
"""queries whose scores are drawn"""
BETTER, WORSE = 2, 1
"""queries whose five best are shown: answered by the correction alone, and lost by it"""


@dataclass(frozen=True)
class FigureSettings:
    """An experiment's run, the bank of its figures (None: the test queries), and where sweeps keep their points."""

    run: Run
    bank: str | None = None
    seed: int = 0
    folder: Path | None = None
    rounds: int = 5

    def stem(self, name: str, view: View | None = None) -> str:
        """The name of a figure's files."""
        parts = ([] if view is None else [view.title]) + ([] if self.bank is None else [self.bank])
        return ".".join((name, *map(slug, parts)))


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper: what it shows, its values, and what an experiment lacks for it, if anything."""

    name: str
    description: str
    make: Callable[[FigureSettings], Iterator[FigureData]]
    lacks: Callable[[Experiment], str | None] = lambda experiment: None


def figure_data(name: str, settings: FigureSettings) -> Iterator[FigureData]:
    """The values of a figure, for each direction that the bank serves."""
    refuse_lacking(settings.run.experiment, [name])
    return FIGURES[name].make(settings)


def named_figure(name: str) -> PaperFigure:
    """The figure of that name."""
    if name not in FIGURES:
        near = difflib.get_close_matches(name, FIGURES, 1)
        hint = f"did you mean {near[0]}? There" if near else "there"
        raise InputError(f"there is no figure {name!r}; {hint} are {', '.join(FIGURES)}.")
    return FIGURES[name]


def possible_figures(experiment: Experiment) -> dict[str, str | None]:
    """For every figure what an experiment lacks for it, or None if it can be drawn."""
    if "group_targets" in experiment.settings:
        return dict.fromkeys(FIGURES, "settings.group_targets merges targets, and figures show single ones")
    return {name: each.lacks(experiment) for name, each in FIGURES.items()}


def refuse_lacking(experiment: Experiment, names: Iterable[str]) -> None:
    """An error where a figure lacks something, which says what."""
    possible = possible_figures(experiment)
    for name in names:
        lacking = possible[named_figure(name).name]
        if lacking is not None:
            raise InputError(f"{experiment.path}: the figure {name} cannot be drawn: {lacking}.")


def radar(runs: Sequence[Run], bank: str | None = None, stem: str = "radar") -> RadarData:
    """Methods over experiments and directions by R@1; over all metrics where these are too few for a radar."""
    spokes = [(run, title, way, "R@1") for run in runs for title, way in run.ways(bank).items()]
    if len(spokes) < FEWEST_AXES:
        spokes = [(run, title, way, name) for run, title, way, _ in spokes for name in run.metrics if better(name)]
    many, several = len({id(run) for run, *_ in spokes}) > 1, len({name for *_, name in spokes}) > 1
    names = [run.experiment.name for run in runs]
    axes = []
    for run, title, _, name in spokes:
        its = run.experiment
        who = f"{its.name}, {its.model}" if names.count(its.name) > 1 else its.name
        what = [metric_title(its.task, name)] if several or not many else []
        label = " ".join([*([who] if many else []), title, *what])
        axes.append(RadarAxis(label, better(name) > 0, 100.0 if metric(name).percent else None))
    evaluations = [run.evaluation(way, bank) for run, _, way, _ in spokes]
    metrics = [name for *_, name in spokes]
    series = {
        _series(label, evaluations): [
            each[label][name] if label in each.rows else np.nan for each, name in zip(evaluations, metrics, strict=True)
        ]
        for label in dict.fromkeys(label for each in evaluations for label in each.rows)
    }
    return RadarData(stem, axes, series)


def _series(label: str, evaluations: Sequence[Evaluation]) -> str:
    rows = [each[label] for each in evaluations if label in each.rows]
    return series_name(label, transductive=any(row.transductive for row in rows))


def _radar(settings: FigureSettings) -> Iterator[FigureData]:
    yield radar([settings.run], settings.bank, settings.stem("radar"))


def _similarity(settings: FigureSettings) -> Iterator[FigureData]:
    for at, view in enumerate(views(settings.run, settings.bank)):
        before = some_scores(settings.run.experiment, ROWS, reverse=at == 1)
        added = np.zeros(before.shape[1], before.dtype) if view.after.bias is None else view.after.bias
        k = _depth(view)
        counts = view.counts(view.before, k), view.counts(view.after, k)
        stem = settings.stem("similarity", view)
        yield SimilarityData(stem, (before, before + added), counts, ("no correction", _after(view)), k)


def _sweep(over: str, settings: FigureSettings) -> Iterator[FigureData]:
    its, run = settings.run.experiment, settings.run
    bank = settings.bank if over != "bank-size" or settings.bank else _largest(its)
    for direction in sweep_ways(run, over, bank):
        points = sweep(
            its, over, run.preset, bank=bank, direction=direction, rounds=settings.rounds, seed=settings.seed,
            relative="tau" in its.settings, folder=settings.folder, anew=True, progress=run.progress,
        )  # fmt: skip
        yield SweepData(sweep_stem(its, over, direction, bank), over, points)


def _hub_map(settings: FigureSettings) -> Iterator[FigureData]:
    its = settings.run.experiment
    rng = np.random.default_rng(settings.seed)
    bank = settings.bank or next(iter(its.banks), None)
    sources = {"query": its.test.get("queries"), "target": its.test["targets"]}
    if bank is not None:
        sources[f"query of {bank}"] = its.banks[bank].get("queries")
    view = views(settings.run, settings.bank)[0]
    k = _depth(view)
    counts = view.counts(view.before, k)
    vectors, kinds, often, names = [], [], [], []
    for kind, source in sources.items():
        if source is None:
            continue
        rows = rows_of(source, kind)
        first = np.argsort(-counts, kind="stable")[:10] if kind == "target" else np.empty(0, dtype=int)
        others = rng.permutation(np.setdiff1d(np.arange(len(rows)), first))[: max(0, CROWD - len(first))]
        chosen = np.sort(np.concatenate([first, others]).astype(int))
        vectors.append(rows[chosen])
        kinds += [kind] * len(chosen)
        often.append(counts[chosen] if kind == "target" else np.zeros(len(chosen)))
        names += [_last(view.targets.names[each]) if kind == "target" else "" for each in chosen]
    note = f"in brackets: queries with it among their {k} best" if k > 1 else "in brackets: queries it is first for"
    stem = settings.stem("hub-map")
    yield HubMapData(stem, np.concatenate(vectors), kinds, np.concatenate(often), names, note, settings.seed)


def _top_results(settings: FigureSettings) -> Iterator[FigureData]:
    rng = np.random.default_rng(settings.seed)
    for view in views(settings.run, settings.bank):
        queries = [_query_results(view, query) for query in _changed(view, rng)]
        yield TopResultsData(settings.stem("top5", view), queries)


def _hub_queries(settings: FigureSettings) -> Iterator[FigureData]:
    for view in views(settings.run, settings.bank):
        hub = int(np.argmax(view.counts(view.before, 1)))
        queries = [
            Item(view.queries.names[row], bool(view.right(row, [hub])[0]), view.queries.pictures[row])
            for row in np.flatnonzero(view.before.top[:, 0] == hub).tolist()
        ]
        item = Item(view.targets.names[hub], right=False, image=view.targets.pictures[hub])
        yield HubQueriesData(settings.stem("hub-queries", view), item, queries)


def _query_results(view: View, query: int) -> QueryResults:
    results = {}
    for row in (view.before, view.after):
        best = [each for each in row.top[query, :5].tolist() if each >= 0]
        results["no correction" if row is view.before else _after(view)] = [
            Item(view.targets.names[each], bool(right), view.targets.pictures[each])
            for each, right in zip(best, view.right(query, best), strict=True)
        ]
    return QueryResults(view.queries.names[query], results, view.queries.pictures[query])


def _changed(view: View, rng: np.random.Generator) -> list[int]:
    """Queries drawn from those that the correction answers, and from those that it loses; the first, if none."""
    before, after = (row.per_query["R@1"] > 0 for row in (view.before, view.after))
    won, lost = np.flatnonzero(after & ~before), np.flatnonzero(before & ~after)
    chosen = [*rng.permutation(won)[:BETTER], *rng.permutation(lost)[:WORSE]]
    return [int(each) for each in chosen] or list(range(min(BETTER, len(before))))


def _after(view: View) -> str:
    return series_name(view.after.method, transductive=view.after.transductive)


def _largest(experiment: Experiment) -> str | None:
    """The bank with most queries."""
    part = "queries" if experiment.vectors else "scores"
    named = {name: parts[part] for name, parts in experiment.banks.items() if part in parts}
    sizes = {name: open_rows(source, name=f"banks.{name}.{part}").shape[0] for name, source in named.items()}
    return max(sizes, key=lambda name: sizes[name]) if sizes else None


def _depth(view: View) -> int:
    """The depth at which a target counts as retrieved: of few targets nearly all are among the ten best."""
    return K if view.relevance.gallery >= FEW * K else 1


def _last(name: str) -> str:
    """The last part of a path; of a sentence, all of it."""
    return name.rpartition("/")[2] if "/" in name and " " not in name else name


def _needs_axes(experiment: Experiment) -> str | None:
    run = Run(experiment, PRESETS["paper"])
    axes = len(run.ways()) * sum(better(name) != 0 for name in run.metrics)
    if axes >= FEWEST_AXES:
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
        PaperFigure("radar", "every method, on all metrics or over several experiments", _radar, _needs_axes),
        PaperFigure("similarity", "scores and k-occurrence before and after", _similarity),
        PaperFigure("tau", "R@1 over the temperature", partial(_sweep, "tau")),
        PaperFigure("bank-size", "four panels over the part of a bank that is used", partial(_sweep, "bank-size"),
                    _needs_parts),
        PaperFigure("bank-source", "R@1 over the distance of banks, with Spearman's rho",
                    partial(_sweep, "bank-source"), _needs_sources),
        PaperFigure("hub-map", "t-SNE of queries, targets and a bank, the hubs labelled", _hub_map, _needs_vectors),
        PaperFigure("top5", "the five best before and after, for a few queries", _top_results),
        PaperFigure("hub-queries", "the most retrieved target and the queries that get it", _hub_queries),
    )
}  # fmt: skip
"""by name"""
