"""Figures of an experiment, drawn from what its tables computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unhub.api.evaluation import Evaluation, MethodResult
from unhub.experiments import Experiment, sweep
from unhub.experiments.result import better
from unhub.experiments.run import Run
from unhub.experiments.sources import rows_of
from unhub.experiments.sweeps import sweep_stem, sweep_ways
from unhub.experiments.views import View, some_scores, views
from unhub.foundation.atomic import replace_file
from unhub.foundation.file_names import slug
from unhub.io import open_rows
from unhub.metrics import metric
from unhub.report import figures, sweep_results
from unhub.report.result_tables import BADGE, NAMES
from unhub.report.result_tables import shown as shown_as

if TYPE_CHECKING:
    from matplotlib.figure import Figure

K = 10
"""the depth at which a target counts as retrieved"""
FEW = 5
"""times the depth: with fewer targets it would be a large part of them"""
CROWD = 800
"""points of each kind on a map"""
ROWS = 200
"""queries whose scores are drawn"""
BETTER, WORSE = 2, 1
"""queries whose five best are shown: answered by the correction alone, and lost by it"""

Drawn = Iterator[tuple[str, "Figure"]]
"""stems of files, each with its figure"""


@dataclass(frozen=True)
class Shown:
    """What figures are drawn of: an experiment at work, a bank of it or the test queries, and where sweeps are kept."""

    run: Run
    folder: Path
    bank: str | None = None
    seed: int = 0
    rounds: int = 5

    def views(self) -> list[View]:
        """Both directions, or the one that the bank serves."""
        return views(self.run, self.bank)


def radar(runs: Sequence[Run], bank: str | None = None) -> Figure:
    """Methods over experiments and directions by R@1; over all metrics where these are too few for a radar."""
    spokes = [(run, title, way, "R@1") for run in runs for title, way in run.ways(bank).items()]
    if len(spokes) < figures.FEWEST_AXES:
        spokes = [(run, title, way, name) for run, title, way, _ in spokes for name in run.metrics if better(name)]
    many, several = len({id(run) for run, *_ in spokes}) > 1, len({name for *_, name in spokes}) > 1
    names = [run.experiment.name for run in runs]
    twice = {name for name in names if names.count(name) > 1}
    axes = []
    for run, title, _, name in spokes:
        its = run.experiment
        who = f"{its.name}, {its.model}" if its.name in twice else its.name
        what = [shown_as(its.task, name)] if several or not many else []
        label = " ".join([*([who] if many else []), title, *what])
        axes.append(figures.RadarAxis(label, better(name) > 0, 100.0 if metric(name).percent else None))
    evaluations = [run.evaluation(way, bank) for run, _, way, _ in spokes]
    labels = dict.fromkeys(label for each in evaluations for label in each.rows)
    series = {
        _series(label, evaluations): [
            each[label][name] if label in each.rows else np.nan
            for each, (*_, name) in zip(evaluations, spokes, strict=True)
        ]
        for label in labels
    }
    return figures.radar(axes, series)


def _series(label: str, evaluations: Sequence[Evaluation]) -> str:
    """What a method is called in a legend: with a badge where the test queries are its bank."""
    rows = [each[label] for each in evaluations if label in each.rows]
    return _badged(NAMES.get(label, label).lstrip("+"), any(row.transductive for row in rows))


def draw_radar(shown: Shown) -> Drawn:
    """All methods on all metrics."""
    yield _stem("radar", shown), radar([shown.run], shown.bank)


def draw_similarity(shown: Shown) -> Drawn:
    """Scores and k-occurrence before and after, a figure for each direction."""
    for at, view in enumerate(shown.views()):
        before = some_scores(shown.run.experiment, ROWS, reverse=at == 1)
        added = np.zeros(before.shape[1], before.dtype) if view.after.bias is None else view.after.bias
        k = _depth(view)
        counts, fewer = (view.counts(row, k) for row in (view.before, view.after))
        names = ("no correction", _name(view.after))
        drawn = figures.similarity(before, before + added, counts, fewer, names, k=k)
        yield _stem("similarity", shown, view), drawn


def draw_sweep(over: str) -> Callable[[Shown], Drawn]:
    """A function that draws a sweep of the paper, its points kept beside it."""

    def draw(shown: Shown) -> Drawn:
        its, run = shown.run.experiment, shown.run
        bank = shown.bank if over != "bank-size" or shown.bank else _largest(its)
        for direction in sweep_ways(run, over, bank):
            points = sweep(
                its, over, run.preset, bank=bank, direction=direction, rounds=shown.rounds, seed=shown.seed,
                relative="tau" in its.settings, folder=shown.folder, anew=True, progress=run.progress,
            )  # fmt: skip
            stem = sweep_stem(its, over, direction, bank)
            with replace_file(shown.folder / f"{stem}.csv") as temporary:
                Path(temporary).write_text(sweep_results.csv_lines(over, points), encoding="utf-8")
            drawn = sweep_results.figure(over, points)
            if drawn is not None:
                yield stem, drawn

    return draw


def draw_hub_map(shown: Shown) -> Drawn:
    """Queries, targets and a bank in the plane, the hubs labelled."""
    its = shown.run.experiment
    rng = np.random.default_rng(shown.seed)
    bank = shown.bank or next(iter(its.banks), None)
    sources = {"query": its.test.get("queries"), "target": its.test["targets"]}
    if bank is not None:
        sources[f"query of {bank}"] = its.banks[bank].get("queries")
    (view, *_) = shown.views()
    k = _depth(view)
    counts = view.counts(view.before, k)
    places, kinds, often, names = [], [], [], []
    for kind, source in sources.items():
        if source is None:
            continue
        rows = rows_of(source, kind)
        first = np.argsort(-counts, kind="stable")[:10] if kind == "target" else np.empty(0, dtype=int)
        chosen = _some(rng, len(rows), first)
        places.append(rows[chosen])
        kinds += [kind] * len(chosen)
        often.append(counts[chosen] if kind == "target" else np.zeros(len(chosen)))
        names += [_last(view.targets.names[each]) if kind == "target" else "" for each in chosen]
    points = figures.project(np.concatenate(places), seed=shown.seed)
    said = f"in brackets: queries with it among their {k} best" if k > 1 else "in brackets: queries it is first for"
    yield _stem("hub-map", shown), figures.hub_map(points, kinds, np.concatenate(often), names=names, note=said)


def draw_top5(shown: Shown) -> Drawn:
    """The five best of some queries before and after, a figure for each direction."""
    rng = np.random.default_rng(shown.seed)
    for view in shown.views():
        items = [_comparison(view, query) for query in _telling(view, rng)]
        yield _stem("top5", shown, view), figures.top5(items)


def draw_hub_queries(shown: Shown) -> Drawn:
    """The greatest hub and the queries that it is first for, a figure for each direction."""
    for view in shown.views():
        first = view.before.top[:, 0]
        hub = int(np.argmax(view.counts(view.before, 1)))
        queries = [
            figures.Item(view.queries.names[row], bool(view.right(row, [hub])[0]), view.queries.pictures[row])
            for row in np.flatnonzero(first == hub).tolist()
        ]
        item = figures.Item(view.targets.names[hub], right=False, image=view.targets.pictures[hub])
        yield _stem("hub-queries", shown, view), figures.hub_queries(item, queries)


def _comparison(view: View, query: int) -> figures.Comparison:
    """What is found for a query before and after."""
    results = {}
    for row in (view.before, view.after):
        best = [each for each in row.top[query, :5].tolist() if each >= 0]
        right = view.right(query, best)
        results["no correction" if row is view.before else _name(row)] = [
            figures.Item(view.targets.names[each], bool(well), view.targets.pictures[each])
            for each, well in zip(best, right, strict=True)
        ]
    return figures.Comparison(view.queries.names[query], results, view.queries.pictures[query])


def _telling(view: View, rng: np.random.Generator) -> list[int]:
    """Queries drawn from those that the correction answers, and from those that it loses; the first, if none."""
    before, after = (row.per_query["R@1"] > 0 for row in (view.before, view.after))
    won, lost = np.flatnonzero(after & ~before), np.flatnonzero(before & ~after)
    chosen = [*rng.permutation(won)[:BETTER], *rng.permutation(lost)[:WORSE]]
    return [int(each) for each in chosen] or list(range(min(BETTER, len(before))))


def _some(rng: np.random.Generator, count: int, first: np.ndarray) -> np.ndarray:
    """Rows to draw: the first ones, and others at random."""
    others = np.setdiff1d(np.arange(count), first)
    more = rng.permutation(others)[: max(0, CROWD - len(first))]
    return np.sort(np.concatenate([first, more]).astype(int))


def _largest(experiment: Experiment) -> str | None:
    """The bank with most queries."""
    part = "queries" if experiment.vectors else "scores"
    named = {name: parts[part] for name, parts in experiment.banks.items() if part in parts}
    sizes = {name: open_rows(source, name=f"banks.{name}.{part}").shape[0] for name, source in named.items()}
    return max(sizes, key=lambda name: sizes[name]) if sizes else None


def _name(row: MethodResult) -> str:
    return _badged(NAMES.get(row.method, row.method).lstrip("+"), row.transductive)


def _badged(name: str, transductive: bool) -> str:
    return f"{name} ({BADGE})" if transductive else name


def _depth(view: View) -> int:
    """The depth at which a target counts as retrieved: of few targets nearly all are among the ten best."""
    return K if view.relevance.gallery >= FEW * K else 1


def _last(name: str) -> str:
    """The last part of a path; of a sentence, all of it."""
    return name.rpartition("/")[2] if "/" in name and " " not in name else name


def _stem(name: str, shown: Shown, view: View | None = None) -> str:
    parts = ([] if view is None else [view.title]) + ([] if shown.bank is None else [shown.bank])
    return ".".join((name, *map(slug, parts)))
