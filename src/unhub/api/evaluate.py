"""``evaluate``: methods x metrics on one trial; the scores of a bank are computed once, however many methods."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np

from unhub.api.correctors import corrected
from unhub.api.evaluation import Evaluation, MethodResult
from unhub.api.labels import labels
from unhub.api.problem import check_needs, missing
from unhub.api.progress import Progress
from unhub.api.sources import Metric, Reader
from unhub.api.temperature import Settled, settle_temperature
from unhub.api.trial import Trial, open_vectors, relevance_of, score_trial, vector_trial
from unhub.banks import spread
from unhub.core.parameters import check_count
from unhub.foundation.errors import InputError, UnhubWarning
from unhub.foundation.types import FloatArray
from unhub.io import Rows
from unhub.methods import METHODS, HyperParameters, Method, is_matrix_only, settings
from unhub.methods import methods as methods_by_name
from unhub.metrics import DEFAULT_METRICS, Ranker, Ranking, bootstrap_means, depth_needed, per_query, summarise
from unhub.metrics import metric as metric_by_name

Direction = Literal["forward", "reverse", "both"]


def evaluate(
    *,
    relevant: Any,
    scores: Any = None,
    queries: Any = None,
    targets: Any = None,
    query_bank: Any = None,
    target_bank: Any = None,
    query_bank_scores: Any = None,
    cross_bank_scores: Any = None,
    target_bank_scores: Any = None,
    methods: Iterable[str | Method] = ("none", "is", "sn"),
    metrics: Sequence[str] = DEFAULT_METRICS,
    direction: Direction = "forward",
    ties: str = "average",
    group_targets: Literal["max"] | None = None,
    ignore_self: bool = False,
    allow_overlap: bool = False,
    query_ids: Any = None,
    target_ids: Any = None,
    query_weight: Any = None,
    target_prior: Any = None,
    metric: Metric = "cosine",
    normalize: bool = False,
    memory: str | int | None = None,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    **given: Unpack[HyperParameters],
) -> Evaluation:
    """Every method on every metric, for test queries against a gallery.

    Embeddings: queries, targets and, for results that a deployed system could have, query_bank and target_bank.
    Matrices: scores (query, gallery), query_bank_scores (bank, gallery), cross_bank_scores (bank, target bank),
    target_bank_scores (target bank, gallery). Without a query bank the test queries are the bank, and the rows carry
    the word transductive. relevant: an int array (query -> target), a list of sets, pairs of ids, or a path.

    methods=unhub.METHODS runs all that can run and lists the others in ``skipped``.

    >>> S = np.array([[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.8, 0.3, 0.5]], dtype=np.float32)
    >>> result = evaluate(scores=S, relevant=[0, 1, 2], methods=["none", "sn"], tau=0.1)
    >>> result["none"]["R@1"] < result["sn"]["R@1"]
    True
    """
    if direction not in ("forward", "reverse", "both"):
        raise InputError(f"direction is {direction!r}; use 'forward', 'reverse' or 'both'.")
    if group_targets not in (None, "max"):
        raise InputError(f"group_targets is {group_targets!r}; use 'max' or leave it out.")
    check_count("resamples", resamples)
    everything = tuple(methods) == METHODS if not isinstance(methods, str) else False
    chosen = methods_by_name([methods] if isinstance(methods, str) else methods, given)
    names = tuple(metric_by_name(name).name for name in metrics)
    reader = Reader(metric, normalize, memory)
    marginals = {"query_weight": query_weight, "target_prior": target_prior}
    options = _Options(names, ties, group_targets, ignore_self, resamples, seed, everything, progress)
    ids = (query_ids, target_ids)
    if scores is not None:
        if queries is not None or targets is not None or query_bank is not None or target_bank is not None:
            raise InputError("scores and embeddings came together; give scores or queries and targets, not both.")
        matrix = reader.scores(scores, "scores")
        relevance = relevance_of(relevant, None, None, matrix, ids)
        parts = {
            "query_bank_scores": query_bank_scores,
            "cross_bank_scores": cross_bank_scores,
            "target_bank_scores": target_bank_scores,
        }

        def trial(reverse: bool) -> Trial:
            if reverse and any(part is not None for part in parts.values()):
                raise InputError(
                    "the reverse direction with a bank needs embeddings (queries, targets, query_bank, target_bank); "
                    "bank matrices hold one direction only."
                )
            return score_trial(
                reader,
                Rows(np.asarray(matrix[0 : matrix.shape[0]]).T, name="scores") if reverse else matrix,
                relevance.reverse() if reverse else relevance,
                **parts,
                allow_overlap=allow_overlap,
                ignore_self=ignore_self,
                marginals=marginals if not reverse else {},
            )
    else:
        if queries is None or targets is None:
            missing_one = "queries" if queries is None else "targets"
            raise InputError(f"{missing_one} is missing; give queries and targets, or a matrix of scores.")
        vectors = open_vectors(reader, queries, targets, query_bank, target_bank, ids)
        relevance = relevance_of(relevant, vectors.queries, vectors.targets, None, ids)

        def trial(reverse: bool) -> Trial:
            return vector_trial(
                reader,
                vectors.reversed() if reverse else vectors,
                relevance.reverse() if reverse else relevance,
                allow_overlap=allow_overlap,
                ignore_self=ignore_self,
                marginals=marginals if not reverse else {},
            )

    by_caller = [not isinstance(each, str) for each in methods] if not isinstance(methods, str) else [False]
    tau_given = any(name in given for name in ("tau", "tau1"))
    explicit = [tau_given or own for own in by_caller]
    if direction != "both":
        return _run(trial(direction == "reverse"), chosen, explicit, options, direction)
    back = _run(trial(True), chosen, explicit, options, "reverse")
    return replace(_run(trial(False), chosen, explicit, options, "forward"), reverse=back)


@dataclass(frozen=True)
class _Options:
    metrics: tuple[str, ...]
    ties: str
    group_targets: str | None
    ignore_self: bool
    resamples: int
    seed: int
    lenient: bool
    progress: Progress | None


def _run(
    trial: Trial, chosen: Sequence[Method], explicit: Sequence[bool], options: _Options, direction: str
) -> Evaluation:
    skipped = _skipped(trial, chosen, options.lenient)
    running = [(each, own) for each, own in zip(chosen, explicit, strict=True) if each.name not in skipped]
    seen = spread(trial.banks.queries)
    settled = [settle_temperature(each, trial.banks.queries, given=own, scores=seen) for each, own in running]
    for sentence in dict.fromkeys(told for each in settled for told in each.warnings):
        warnings.warn(sentence, UnhubWarning, stacklevel=3)
    found: dict[str, MethodResult] = {}
    clusters: Any = None
    for done, (label, each) in enumerate(zip(labels([s.method for s in settled]), settled, strict=True)):
        if options.progress is not None:
            options.progress(f"evaluate {label}", done, len(settled))
        row, ranking = _row(label, each, trial, options)
        found[label], clusters = row, ranking.relevance.clusters()
    found = _with_intervals(found, clusters, options)
    return Evaluation(found, options.metrics, _settings(trial, options, direction), clusters, skipped)


def _row(label: str, settled: Settled, trial: Trial, options: _Options) -> tuple[MethodResult, Ranking]:
    began = time.perf_counter()
    method = settled.method
    fixed = corrected(method, trial.scores, trial.banks, masked=trial.masked)
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
            bias=None if bias is None else bias.values.astype(np.float32),
            seconds=time.perf_counter() - began,
            warnings=settled.warnings,
        ),
        ranking,
    )


def _ranker(trial: Trial, options: _Options) -> Ranker:
    depth = max(10, depth_needed(options.metrics))
    if options.group_targets is None:
        return Ranker(trial.relevance, ties=options.ties, depth=depth, ignore_self=options.ignore_self)
    groups = trial.relevance.groups()
    return Ranker(trial.relevance.grouped(groups), ties=options.ties, depth=depth, groups=groups)


def _with_intervals(found: dict[str, MethodResult], clusters: Any, options: _Options) -> dict[str, MethodResult]:
    """The rows with bootstrap intervals of every metric that is a mean over queries, from one set of resamples."""
    averaged = [
        name for name in options.metrics if metric_by_name(name).average is np.mean and metric_by_name(name).per_query
    ]
    if not averaged:
        return found
    series = [row.per_query[name] for row in found.values() for name in averaged]
    columns: FloatArray = np.stack(series, axis=1)
    low, high = bootstrap_means(columns, clusters=clusters, rounds=options.resamples, seed=options.seed)
    scales = np.array([100.0 if metric_by_name(name).percent else 1.0 for name in averaged])
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


def _settings(trial: Trial, options: _Options, direction: str) -> dict[str, Any]:
    import unhub

    queries, gallery = trial.scores.shape
    cross = trial.banks.cross
    return {
        "direction": direction,
        "queries": queries,
        "gallery": gallery,
        "bank": 0 if trial.transductive else trial.banks.queries.shape[0],
        "target_bank": 0 if cross is None else cross.shape[1],
        "transductive": trial.transductive,
        "ties": options.ties,
        "group_targets": options.group_targets,
        "ignore_self": options.ignore_self,
        "resamples": options.resamples,
        "seed": options.seed,
        "unhub": unhub.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
