"""Running methods on a task: each corrects, ranks and is measured in the same way."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.api.evaluation import Evaluation, MethodResult
from unhub.api.guard import GuardedBias, estimate_bias, finite
from unhub.api.verdict import Verdict
from unhub.core.bias import Bias, scaled_bias
from unhub.dataset import Task
from unhub.dataset.bank_audit import bank_findings, own_gallery
from unhub.dataset.task import check_needs, missing
from unhub.foundation import VERSION
from unhub.foundation.errors import InputError, MissingDependencyError
from unhub.foundation.types import FloatArray, Progress
from unhub.foundation.wording import argument, in_python, spoken
from unhub.methods import Method, ResolvedMethod, RowMethod, is_additive, is_matrix_only, settings
from unhub.metrics import Ranker, Ranking, bootstrap_means, depth_needed, measure, metric
from unhub.metrics.ranking import tie_policy
from unhub.scores import ScoreSource, blocks
from unhub.scores.views import mask_self

WHOLE_MATRIX_BYTES = 8 << 30
"""largest float64 matrix for methods that need the whole matrix at once"""


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

    def __post_init__(self) -> None:
        if not self.metrics:
            raise InputError("metrics", "is empty", "name at least one")
        tie_policy(self.ties)
        if self.group_targets not in (None, "max"):
            raise InputError("group_targets", f"is {self.group_targets!r}", "use 'max' or leave it out")
        if self.group_targets is not None and self.ignore_self:
            both = f"and {argument('ignore_self')} exclude each other"
            raise InputError("group_targets", both, "a group is not one of the queries")


def run(
    task: Task, chosen: Sequence[Method], options: Options, known: Mapping[str, GuardedBias] | None = None
) -> Evaluation:
    """Every method on the task; known: biases that were estimated before, by the label of the row.

    It does not warn: what the caller should know is in the notes of the result.
    """
    skipped = _skipped(task, [each for each in chosen if each.name not in (known or {})], options.lenient)
    running = [each for each in chosen if each.name not in skipped]
    found = _of_bank(task, running, known)
    resolved = [task.resolve(each) for each in running]
    rows: dict[str, MethodResult] = {}
    clusters: Any = None
    for done, (label, each) in enumerate(zip(labels([each.method for each in resolved]), resolved, strict=True)):
        if options.progress is not None:
            options.progress(f"evaluate {label}", done, len(resolved))
        try:
            rows[label], ranking = measure_method(label, each, task, options, (known or {}).get(label))
        except MissingDependencyError as error:
            if not options.lenient:
                raise
            skipped[label] = f"skipped; {error}"
            continue
        clusters = ranking.relevance.clusters()
        if options.ignore_self:  # an item belongs to its own class, though it is not right for itself
            clusters = np.minimum(clusters, np.arange(len(clusters)))
    rows = _with_intervals(rows, clusters, options)
    if found:
        rows = {
            label: replace(row, notes=(*found, *row.notes)) if row.bias is not None else row
            for label, row in rows.items()
        }
    return Evaluation(rows, options.metrics, _settings(task, options), clusters, skipped)


def _of_bank(task: Task, running: Sequence[Method], known: Mapping[str, GuardedBias] | None) -> tuple[str, ...]:
    """Sentences about the bank that methods learn from; an error if it is the gallery itself."""
    learning = [
        each for each in running if is_additive(each) and each.name != "none" and each.name not in (known or {})
    ]
    if not learning or task.own_bank:
        return ()
    judged = any(is_additive(each) and each.strength == "auto" for each in learning)
    findings = (*own_gallery(task, judged=judged), *bank_findings(task))
    return tuple(each.sentence for each in findings)


def measure_method(
    label: str, resolved: ResolvedMethod, task: Task, options: Options, known: GuardedBias | None = None
) -> tuple[MethodResult, Ranking]:
    """One method on the task, without intervals, and its ranking; known: its bias, where it was estimated before."""
    began = time.perf_counter()
    method = resolved.method
    assert task.scores is not None
    corrected = apply_method(method, task, known)
    ranker = _ranker(task, options)
    for start, rows in corrected.rows:
        ranker.add(start, rows)
    ranking = ranker.result()
    bias, verdict = corrected.bias, corrected.verdict
    measured = measure(ranking, options.metrics)
    return (
        MethodResult(
            label=label,
            method=method.name,
            settings=settings(method) if verdict is None else settings(method) | {"strength": verdict.strength},
            values=measured.values,
            intervals={},
            per_query=measured.per_query,
            top=ranking.top,
            transductive=method.name != "none" and (task.transductive or is_matrix_only(method)),
            status=None if bias is None else bias.status,
            iterations=0 if bias is None else bias.iterations,
            marginal_error=None if bias is None else bias.marginal_error,
            bias=corrected.added,
            seconds=time.perf_counter() - began,
            notes=resolved.notes + corrected.notes,
            sparse=method.sparse,
            verdict=verdict,
        ),
        ranking,
    )


def _ranker(task: Task, options: Options) -> Ranker:
    assert task.relevance is not None
    depth = max(10, depth_needed(options.metrics))
    if options.group_targets is None:
        return Ranker(task.relevance, ties=options.ties, depth=depth, ignore_self=options.ignore_self)
    groups = task.relevance.groups()
    return Ranker(task.relevance.grouped(groups), ties=options.ties, depth=depth, groups=groups)


def _with_intervals(measured: dict[str, MethodResult], clusters: Any, options: Options) -> dict[str, MethodResult]:
    """The rows with bootstrap intervals of every metric that is a mean over queries, from one set of resamples."""
    averaged = [name for name in options.metrics if metric(name).average is np.mean and metric(name).per_query]
    if not averaged:
        return measured
    series = [row.per_query[name] for row in measured.values() for name in averaged]
    columns: FloatArray = np.stack(series, axis=1)
    low, high = bootstrap_means(columns, clusters=clusters, rounds=options.resamples, seed=options.seed)
    scales = np.array([100.0 if metric(name).percent else 1.0 for name in averaged])
    ends = np.stack((low, high), axis=1).reshape(len(measured), len(averaged), 2) * scales[None, :, None]
    return {
        label: replace(
            row, intervals={name: (float(e[0]), float(e[1])) for name, e in zip(averaged, each, strict=True)}
        )
        for (label, row), each in zip(measured.items(), ends, strict=True)
    }


def _skipped(task: Task, chosen: Sequence[Method], lenient: bool) -> dict[str, str]:
    """Methods that lack a bank; an error unless everything was asked for."""
    skipped = {}
    for each in chosen:
        lacking = missing(each, task.banks)
        if lacking is not None and lenient:
            skipped[each.name] = f"skipped; {spoken(lacking, in_python)}"
        elif lacking is not None:
            check_needs(each, task.banks)
    return skipped


def _settings(task: Task, options: Options) -> dict[str, Any]:
    assert task.scores is not None
    queries, gallery = task.scores.shape
    cross = task.banks.cross
    return {
        "direction": task.direction,
        "queries": queries,
        "gallery": gallery,
        "bank": 0 if task.transductive and not task.shared else task.banks.queries.shape[0],
        "target_bank": 0 if cross is None else cross.shape[1],
        "transductive": task.transductive,
        "test_queries_in_bank": task.shared,
        "ties": options.ties,
        "group_targets": options.group_targets,
        "ignore_self": options.ignore_self,
        "resamples": options.resamples,
        "seed": options.seed,
        "unhub": VERSION,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


@dataclass(frozen=True)
class CorrectedScores:
    """Corrected test rows, to be read once; the bias of an additive method, and what of it was added; notes."""

    rows: Iterator[tuple[int, FloatArray]]
    bias: Bias | None = None
    added: FloatArray | None = None
    notes: tuple[str, ...] = ()
    verdict: Verdict | None = None


def apply_method(method: Method, task: Task, known: GuardedBias | None = None) -> CorrectedScores:
    """The test scores as the method corrects them, block after block; known: a bias that was estimated before."""
    test, masked = task.scores, task.masked
    assert test is not None
    if is_matrix_only(method):
        whole = method.correct(_whole(method, test, masked))
        step, height = test.block_rows, len(whole.scores)
        rows = ((start, whole.scores[start : start + step]) for start in range(0, height, step))
        return CorrectedScores(rows, notes=whole.notes)
    if is_additive(method):
        guarded = estimate_bias(method, task.learned_by(method)) if known is None else known
        bias = finite(method, guarded.bias, test.shape[1])
        added = scaled_bias(bias.values, guarded.verdict.strength)
        corrected = ((start, rows + added.astype(rows.dtype)) for start, rows in blocks(test))
        return CorrectedScores(corrected, bias, added, guarded.notes, guarded.verdict)
    assert isinstance(method, RowMethod)
    correct = method.prepare(task.learned_by(method).banks)
    return CorrectedScores((start, correct(mask_self(rows, start) if masked else rows)) for start, rows in blocks(test))


def _whole(method: Method, test: ScoreSource, masked: bool) -> FloatArray:
    """The whole matrix of test scores; self-pairs get a score far below all others."""
    queries, gallery = test.shape
    if queries * gallery * 8 > WHOLE_MATRIX_BYTES:
        raise InputError(
            f"{method.name} needs the whole matrix of {queries:,} x {gallery:,} scores at once, which is "
            f"{queries * gallery * 8 / 2**30:.0f} GiB; evaluate it on a sample."
        )
    whole = np.concatenate([rows for _, rows in blocks(test)])
    if masked:
        np.fill_diagonal(whole, whole.min() - (whole.max() - whole.min()))
    return whole


def labels(chosen: Sequence[Method]) -> list[str]:
    """The name; where a name comes twice, with the hyper-parameters that differ: "sn(tau=0.02)"."""
    names: list[str] = []
    for each in chosen:
        family = [settings(other) for other in chosen if other.name == each.name]
        own = {key: value for key, value in settings(each).items() if len({repr(other[key]) for other in family}) > 1}
        shown = [
            f"{key}={value:g}" if isinstance(value, int | float) else f"{key}={value}" for key, value in own.items()
        ]
        names.append(f"{each.name}({', '.join(shown)})" if shown else each.name)
    times = [names[: at + 1].count(name) for at, name in enumerate(names)]
    return [name if time == 1 else f"{name}#{time}" for name, time in zip(names, times, strict=True)]
