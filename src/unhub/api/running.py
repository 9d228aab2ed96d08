"""Running methods on a trial: every one corrects, ranks and is measured the same way."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.api.correctors import corrected
from unhub.api.evaluation import Evaluation, MethodResult
from unhub.api.labels import labels
from unhub.api.problem import check_needs, missing
from unhub.api.progress import Progress
from unhub.api.temperature import Settled, settle_temperature
from unhub.api.trial import Trial
from unhub.banks import spread
from unhub.core.bias import Bias
from unhub.foundation.errors import MissingDependencyError, UnhubWarning
from unhub.foundation.types import FloatArray
from unhub.foundation.version import VERSION
from unhub.methods import Method, is_matrix_only, settings
from unhub.metrics import Ranker, Ranking, bootstrap_means, depth_needed, metric, per_query, summarise


@dataclass(frozen=True)
class Options:
    """How rankings are made and measured; lenient: methods that lack a bank are skipped instead of refused."""

    metrics: tuple[str, ...]
    ties: str
    group_targets: str | None
    ignore_self: bool
    resamples: int
    seed: int
    lenient: bool
    progress: Progress | None


def run(
    trial: Trial,
    chosen: Sequence[Method],
    explicit: Sequence[bool],
    options: Options,
    direction: str,
    known: Mapping[str, Bias] | None = None,
) -> Evaluation:
    """Every method on the trial; explicit: whether the caller chose each method's temperature.

    known: biases that were estimated before, by the label of the row.
    """
    skipped = _skipped(trial, [each for each in chosen if each.name not in (known or {})], options.lenient)
    running = [(each, own) for each, own in zip(chosen, explicit, strict=True) if each.name not in skipped]
    seen = spread(trial.banks.queries)
    settled = [settle_temperature(each, trial.banks.queries, given=own, scores=seen) for each, own in running]
    for sentence in dict.fromkeys(told for each in settled for told in each.warnings):
        warnings.warn(sentence, UnhubWarning, stacklevel=4)
    found: dict[str, MethodResult] = {}
    clusters: Any = None
    for done, (label, each) in enumerate(zip(labels([s.method for s in settled]), settled, strict=True)):
        if options.progress is not None:
            options.progress(f"evaluate {label}", done, len(settled))
        try:
            row, ranking = measured(label, each, trial, options, (known or {}).get(label))
        except MissingDependencyError as error:
            if not options.lenient:
                raise
            skipped[label] = f"skipped; {error}"
            continue
        found[label], clusters = row, ranking.relevance.clusters()
        if options.ignore_self:  # an item is its own class's too, though it is not right for itself
            clusters = np.minimum(clusters, np.arange(len(clusters)))
    found = _with_intervals(found, clusters, options)
    return Evaluation(found, options.metrics, _settings(trial, options, direction), clusters, skipped)


def measured(
    label: str, settled: Settled, trial: Trial, options: Options, known: Bias | None = None
) -> tuple[MethodResult, Ranking]:
    """One method on the trial, without intervals, and its ranking; known: its bias, where it was estimated before."""
    began = time.perf_counter()
    method = settled.method
    fixed = corrected(method, trial.scores, trial.banks, masked=trial.masked, known=known)
    ranker = _ranker(trial, options)
    for start, rows in fixed.rows:
        ranker.add(start, rows)
    ranking = ranker.result()
    bias = fixed.bias
    values = {name: per_query(ranking, name) for name in options.metrics}
    return (
        MethodResult(
            label=label,
            method=method.name,
            settings=settings(method),
            values=summarise(ranking, options.metrics),
            intervals={},
            per_query={name: value for name, value in values.items() if value is not None},
            top=ranking.top,
            transductive=method.name != "none" and (trial.transductive or is_matrix_only(method)),
            status=None if bias is None else bias.status,
            iterations=0 if bias is None else bias.iterations,
            marginal_error=None if bias is None else bias.marginal_error,
            bias=None if fixed.added is None else fixed.added.astype(np.float32),
            seconds=time.perf_counter() - began,
            warnings=settled.warnings,
        ),
        ranking,
    )


def _ranker(trial: Trial, options: Options) -> Ranker:
    depth = max(10, depth_needed(options.metrics))
    if options.group_targets is None:
        return Ranker(trial.relevance, ties=options.ties, depth=depth, ignore_self=options.ignore_self)
    groups = trial.relevance.groups()
    return Ranker(trial.relevance.grouped(groups), ties=options.ties, depth=depth, groups=groups)


def _with_intervals(found: dict[str, MethodResult], clusters: Any, options: Options) -> dict[str, MethodResult]:
    """The rows with bootstrap intervals of every metric that is a mean over queries, from one set of resamples."""
    averaged = [name for name in options.metrics if metric(name).average is np.mean and metric(name).per_query]
    if not averaged:
        return found
    series = [row.per_query[name] for row in found.values() for name in averaged]
    columns: FloatArray = np.stack(series, axis=1)
    low, high = bootstrap_means(columns, clusters=clusters, rounds=options.resamples, seed=options.seed)
    scales = np.array([100.0 if metric(name).percent else 1.0 for name in averaged])
    ends = np.stack((low, high), axis=1).reshape(len(found), len(averaged), 2) * scales[None, :, None]
    return {
        label: replace(
            row, intervals={name: (float(e[0]), float(e[1])) for name, e in zip(averaged, each, strict=True)}
        )
        for (label, row), each in zip(found.items(), ends, strict=True)
    }


def _skipped(trial: Trial, chosen: Sequence[Method], lenient: bool) -> dict[str, str]:
    """Methods that lack a bank; an error unless everything was asked for."""
    skipped = {}
    for each in chosen:
        lacking = missing(each, trial.banks)
        if lacking is not None and lenient:
            skipped[each.name] = f"skipped; {lacking}"
        elif lacking is not None:
            check_needs(each, trial.banks)
    return skipped


def _settings(trial: Trial, options: Options, direction: str) -> dict[str, Any]:

    queries, gallery = trial.scores.shape
    cross = trial.banks.cross
    return {
        "direction": direction,
        "queries": queries,
        "gallery": gallery,
        "bank": 0 if trial.transductive and not trial.shared else trial.banks.queries.shape[0],
        "target_bank": 0 if cross is None else cross.shape[1],
        "transductive": trial.transductive,
        "test_queries_in_bank": trial.shared,
        "ties": options.ties,
        "group_targets": options.group_targets,
        "ignore_self": options.ignore_self,
        "resamples": options.resamples,
        "seed": options.seed,
        "unhub": VERSION,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
