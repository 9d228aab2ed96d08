"""The paper's figures: what each needs, and its values for a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from unhub.api.ranking_pair import RankingPair
from unhub.dataset import Dataset
from unhub.dataset.galleries import take
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
from unhub.experiments.protocols import preset
from unhub.experiments.result import better, metric_title, series_name
from unhub.experiments.run import Run
from unhub.experiments.sweeps import run_sweep, sweep_stem, sweep_ways
from unhub.foundation.errors import InputError
from unhub.foundation.safe_text import slug
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import argument, no_such, spoken
from unhub.metrics import metric
from unhub.scores import blocks

SOURCES = 3
"""banks that a rank correlation needs"""
BETTER, WORSE = 2, 1
"""queries whose five best are shown: answered by the correction alone, and lost by it"""


@dataclass(frozen=True)
class FigureSettings:
    """A run, the bank of its figures (None: the test queries), and where sweeps save their points."""

    run: Run
    bank: str | None = None
    seed: int = 0
    folder: Path | None = None
    rounds: int = 5
    map_points: int = 800
    """of each kind"""
    score_rows: int = 200
    """queries whose scores are drawn"""

    def stem(self, name: str, direction: str | None = None) -> str:
        """The name of a figure's files."""
        return ".".join((name, *(slug(part) for part in (direction, self.bank) if part is not None)))


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper: what it shows, its values, and what a dataset lacks for it, if anything."""

    name: str
    description: str
    make: Callable[[FigureSettings], Iterator[FigureData]]
    lacks: Callable[[Dataset], str | None] = lambda data: None


def figure_data(name: str, settings: FigureSettings) -> Iterator[FigureData]:
    """The values of a figure, for each direction that the bank serves."""
    refuse_lacking(settings.run.data, [name])
    return FIGURES[name].make(settings)


def possible_figures(data: Dataset) -> dict[str, str | None]:
    """For every figure what a dataset lacks for it, or None if it can be drawn."""
    if data.group_targets is not None:
        why = spoken(f"{argument('group_targets')} merges targets, and figures show single ones", data.door())
        return dict.fromkeys(FIGURES, why)
    lacking = {name: each.lacks(data) for name, each in FIGURES.items()}
    return {name: None if why is None else spoken(why, data.door()) for name, why in lacking.items()}


def refuse_lacking(data: Dataset, names: Iterable[str]) -> None:
    """An error for a figure that does not exist or lacks something."""
    lacking = possible_figures(data)
    for name in names:
        if name not in FIGURES:
            raise InputError(no_such("figure", name, FIGURES))
        if lacking[name] is not None:
            raise InputError(f"{data.prefix}the figure {name} cannot be drawn: {lacking[name]}.")


def radar(runs: Sequence[Run], bank: str | None = None, stem: str = "radar") -> RadarData:
    """Methods over experiments and directions by R@1; over all metrics where these are too few for a radar."""
    spokes = [(run, title, way, "R@1") for run in runs for title, way in run.data.directions_of(bank).items()]
    if len(spokes) < FEWEST_AXES:
        spokes = [(run, title, way, name) for run, title, way, _ in spokes for name in run.metrics if better(name)]
    many, several = len({id(run) for run, *_ in spokes}) > 1, len({name for *_, name in spokes}) > 1
    names = [run.names[0] for run in runs]
    axes = []
    for run, title, _, name in spokes:
        who = ", ".join(run.names) if names.count(run.names[0]) > 1 else run.names[0]
        what = [metric_title(run.data.task_type, name)] if several or not many else []
        label = " ".join([*([who] if many else []), title, *what])
        axes.append(RadarAxis(label, better(name) > 0, 100.0 if metric(name).percent else None))
    evaluations = [run.evaluation(way, bank) for run, _, way, _ in spokes]
    series = {}
    for label in dict.fromkeys(label for each in evaluations for label in each.rows):
        rows = [each.rows.get(label) for each in evaluations]
        name = series_name(label, transductive=any(row is not None and row.transductive for row in rows))
        series[name] = [np.nan if row is None else row[each] for row, (*_, each) in zip(rows, spokes, strict=True)]
    return RadarData(stem, axes, series)


def _radar(settings: FigureSettings) -> Iterator[FigureData]:
    yield radar([settings.run], settings.bank, settings.stem("radar"))


def _similarity(settings: FigureSettings) -> Iterator[FigureData]:
    for direction, pair in settings.run.pairs(settings.bank).items():
        before = _some_scores(settings, direction)
        added = np.zeros(before.shape[1], before.dtype) if pair.after.bias is None else pair.after.bias
        counts = pair.counts(pair.before, pair.depth), pair.counts(pair.after, pair.depth)
        stem, names = settings.stem("similarity", direction), ("no correction", _after(pair))
        yield SimilarityData(stem, (before, before + added), counts, names, pair.depth)


def _some_scores(settings: FigureSettings, direction: str) -> FloatArray:
    """The scores of evenly spaced queries with all targets: (at most score_rows, gallery)."""
    data = settings.run.data
    reverse = data.directions_of().get(direction) == "reverse"
    source = data.test_scores()
    size = source.shape[int(reverse)]
    rows = np.linspace(0, size - 1, min(settings.score_rows, size)).round().astype(int)
    parts = []
    for start, block in blocks(source):
        inside = rows[(rows >= start) & (rows < start + len(block))] - start
        parts.append(np.asarray(block)[:, rows] if reverse else np.array(np.asarray(block)[inside]))
    scores: FloatArray = np.concatenate(parts)
    return scores.T if reverse else scores


def _sweep(over: str, settings: FigureSettings) -> Iterator[FigureData]:
    data, run = settings.run.data, settings.run
    bank = settings.bank
    if over == "bank-size" and bank is None:  # the bank with most queries
        part = "queries" if data.kind == "vectors" else "scores"
        bank = max(data.banks, key=lambda name: len(data.rows(part, name) or ()), default=None)
    for direction in sweep_ways(run, over, bank):
        points = run_sweep(
            run, over, bank, direction, rounds=settings.rounds, seed=settings.seed, folder=settings.folder, anew=True,
            relative="tau" in data.settings or None,
        )  # fmt: skip
        yield SweepData(sweep_stem(data, over, direction, bank), over, points)


def _hub_map(settings: FigureSettings) -> Iterator[FigureData]:
    data, rng = settings.run.data, np.random.default_rng(settings.seed)
    bank = settings.bank or next(iter(data.banks), None)
    queries = None if data.task_type == "self-retrieval" else data.rows("queries")
    sources = {"query": queries, "target": data.rows("targets")}
    if bank is not None:
        sources[f"query of {bank}"] = data.rows("queries", bank)
    pair = next(iter(settings.run.pairs(settings.bank).values()))
    k = pair.depth
    counts = pair.counts(pair.before, k)
    vectors, kinds, often, names = [], [], [], []
    for kind, rows in sources.items():
        if rows is None:
            continue
        hubs = np.argsort(-counts, kind="stable")[:10] if kind == "target" else np.empty(0, dtype=int)
        others = rng.permutation(np.setdiff1d(np.arange(len(rows)), hubs))[: max(0, settings.map_points - len(hubs))]
        chosen = np.sort(np.concatenate([hubs, others]).astype(int))
        vectors.append(take(rows, chosen).astype(np.float32))
        kinds += [kind] * len(chosen)
        often.append(counts[chosen] if kind == "target" else np.zeros(len(chosen)))
        labels = [pair.targets.names[each] if kind == "target" else "" for each in chosen]
        names += [each if " " in each else each.rpartition("/")[2] for each in labels]  # a path by its last part
    note = f"in brackets: queries with it among their {k} best" if k > 1 else "in brackets: queries it is first for"
    yield HubMapData(
        settings.stem("hub-map"), np.concatenate(vectors), kinds, np.concatenate(often), names, note, settings.seed
    )


def _top_results(settings: FigureSettings) -> Iterator[FigureData]:
    rng = np.random.default_rng(settings.seed)
    for direction, pair in settings.run.pairs(settings.bank).items():
        queries = [_query_results(pair, query) for query in _changed(pair, rng)]
        yield TopResultsData(settings.stem("top5", direction), queries)


def _hub_queries(settings: FigureSettings) -> Iterator[FigureData]:
    for direction, pair in settings.run.pairs(settings.bank).items():
        hub = int(np.argmax(pair.counts(pair.before, 1)))
        right = pair.right_for(hub)
        queries = [
            Item(pair.queries.names[row], bool(right[row]), pair.queries.pictures[row])
            for row in np.flatnonzero(pair.before.top[:, 0] == hub).tolist()
        ]
        item = Item(pair.targets.names[hub], right=False, image=pair.targets.pictures[hub])
        yield HubQueriesData(settings.stem("hub-queries", direction), item, queries)


def _query_results(pair: RankingPair, query: int) -> QueryResults:
    results = {}
    for name, row in (("no correction", pair.before), (_after(pair), pair.after)):
        best = [each for each in row.top[query, :5].tolist() if each >= 0]
        results[name] = [
            Item(pair.targets.names[each], bool(right), pair.targets.pictures[each])
            for each, right in zip(best, pair.are_right(query, best), strict=True)
        ]
    return QueryResults(pair.queries.names[query], results, pair.queries.pictures[query])


def _changed(pair: RankingPair, rng: np.random.Generator) -> list[int]:
    """Queries drawn from those that the correction wins, and from those that it loses; the first ones if none."""
    before, after = (row.per_query["R@1"] > 0 for row in (pair.before, pair.after))
    won, lost = np.flatnonzero(after & ~before), np.flatnonzero(before & ~after)
    chosen = [*rng.permutation(won)[:BETTER], *rng.permutation(lost)[:WORSE]]
    return [int(each) for each in chosen] or list(range(min(BETTER, len(before))))


def _after(pair: RankingPair) -> str:
    return series_name(pair.after.method, transductive=pair.after.transductive)


def _needs_axes(data: Dataset) -> str | None:
    run = Run(data, preset())
    axes = len(data.directions_of()) * sum(better(name) != 0 for name in run.metrics)
    if axes >= FEWEST_AXES:
        return None
    more = f"ask for more {argument('metrics')}"
    return f"a radar of one dataset has an axis for each metric and direction, {axes} here; {more}"


def _needs_vectors(data: Dataset) -> str | None:
    name = f"name {argument('queries')} and {argument('targets')}, embeddings"
    return None if data.kind == "vectors" else f"there is a matrix of scores; {name}"


def _needs_parts(data: Dataset) -> str | None:
    return "items are their own bank, of which no part can be drawn" if data.task_type == "self-retrieval" else None


def _needs_sources(data: Dataset) -> str | None:
    if data.kind == "vectors" and len(data.banks) >= SOURCES:
        return None
    return f"it needs embeddings and {SOURCES} banks, and there are {len(data.banks)}"


FIGURES = {
    each.name: each
    for each in (
        PaperFigure("radar", "every method, on all metrics or over several experiments", _radar, _needs_axes),
        PaperFigure("similarity", "scores and k-occurrence, with no correction and corrected", _similarity),
        PaperFigure("tau", "R@1 over the temperature", partial(_sweep, "tau")),
        PaperFigure("bank-size", "four panels over the part of a bank that is used", partial(_sweep, "bank-size"),
                    _needs_parts),
        PaperFigure("bank-source", "R@1 over the distance of banks, with Spearman's rho",
                    partial(_sweep, "bank-source"), _needs_sources),
        PaperFigure("hub-map", "t-SNE of queries, targets and a bank, the hubs labelled", _hub_map, _needs_vectors),
        PaperFigure("top5", "the five best with no correction and corrected, for a few queries", _top_results),
        PaperFigure("hub-queries", "the most retrieved target and the queries that get it", _hub_queries),
    )
}  # fmt: skip
