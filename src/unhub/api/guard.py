"""``guard``: the verdict on a correction, from queries that it was not fitted on."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.api.facade import facade, warn
from unhub.api.verdict import Verdict, given_verdict, judge
from unhub.core.bias import Bias
from unhub.core.execution import Execution
from unhub.dataset import Dataset, Task
from unhub.dataset.evidence import FreshQueries, JudgedQueries, fresh_queries
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import argument, setting
from unhub.methods import AdditiveMethod, Method
from unhub.methods.sn_dbsn import CappedSN
from unhub.methods.strength import (
    CAUTION,
    LARGE,
    Evidence,
    bank_evidence,
    evidence_of,
    gains,
    held_out_parts,
    held_out_slice,
    judging_temperature,
    linear_term,
    sample_rows,
    standard_errors,
)
from unhub.scores import Banks, Spread, in_memory, select, spread, without
from unhub.scores.folds import ONCE

if TYPE_CHECKING:
    from unhub.api.correction import Correction

KEPT_SHARE = 4
"""one part of the memory in so many may hold the scores of a small bank"""
FOR_EACH_TARGET = 64
"""bytes that the biases without one part of the bank take for each target, beside the scores"""
MOST_FOR_PARTS = 2
"""one part of the memory in so many is the most for that; where five parts would take more, they take turns"""
UNCAPPED = "{} takes the popular targets of an own log for hubs, since its scores are not capped; sn's are."
EARLIER = "What the {0} queries of the earlier verdict said still counts; give newer {0} queries to replace them."
BELIEVED_PRIOR = f"{argument('target_prior')} is taken for true: only judged queries can show that it is wrong."
PREFERRED_CLICKS = "Targets are expected as often as they were clicked: the judged queries prefer that."
UNWANTED_CLICKS = "The clicks were not used: the judged queries do not prefer them."
UNJUDGED_CLICKS = (
    "The clicks were not used: only judged queries can tell whether they show what people want or repeat the hubs; "
    f"give {argument('judged')}."
)


@dataclass(frozen=True, eq=False)
class GuardedBias:
    """A bias at strength 1 with its verdict; notes: what its user should read."""

    bias: Bias
    verdict: Verdict
    linear: float = 0.0
    """sum_j b_j g_j: zero unless there is a target prior"""
    judged: FloatArray | None = None
    """(judged, strengths) gains of the judged queries"""
    prior_mean: float | None = None
    """what the clicks, as a prior, were divided by; None where they are no prior"""
    notes: tuple[str, ...] = ()


@facade
def guard(
    correction: Correction | str | os.PathLike[str],
    *,
    recent: Any = None,
    judged: Any = None,
    judged_queries: Any = None,
    targets: Any = None,
) -> Verdict:
    """The verdict on a correction that exists, from queries it was not fitted on; nothing is fitted.

    correction: a Correction, or the path of one.
    recent: (recent, dim) queries that are asked now; 200 are wanted, 50 are the least. Of a correction that was fitted
        on scores: (recent, gallery) scores.
    judged: which targets are right for which recent query: an int array (query -> target, -1 where nobody has judged),
        a list of sets, pairs, or a path; 50 judged queries are wanted, 20 are the least.
    judged_queries: (judged, dim) the queries of ``judged``, where they are not the recent ones.
    targets: the gallery, when the correction does not know where it is.

    Evidence of a kind that is not given now stays as it was: recent queries alone do not undo what judged ones said.

    Returns a Verdict: ``decision``, ``strength``, ``evidence``, ``checked``, ``sentence``. To serve the correction at
    that strength, use ``correction.with_verdict(verdict)``.
    """
    from unhub.api.artefact import loaded

    correction = loaded(correction)
    if recent is None and judged_queries is None and judged is None:
        raise InputError("recent", "is missing", "give queries that are asked now, to judge the correction by")
    opened = open_guard_inputs(correction, targets, recent=recent, judged=judged, judged_queries=judged_queries)
    g = correction.bias.astype(np.float64)
    fresh, tau, execution = opened.queries, opened.tau, opened.execution
    evidence, _ = fresh_evidence(correction.method, g, tau, correction._linear, fresh, execution)
    verdict = judge_again(correction, evidence, tau)
    earlier = [each.source for each in verdict.evidence if each not in evidence and each.source != "bank"]
    warn((*fresh.notes, *(EARLIER.format(each) for each in earlier)))
    return verdict


@dataclass(frozen=True, eq=False)
class GuardInputs:
    """The queries that a correction is judged by again, the temperature of F, and how to compute."""

    queries: FreshQueries
    tau: float
    execution: Execution


def open_guard_inputs(correction: Correction, targets: Any = None, **fresh: Any) -> GuardInputs:
    """Recent and judged queries of a correction, opened and checked; targets: its gallery."""
    its = correction
    embedded = its.fingerprint is not None
    reader = its._reader
    data = Dataset(
        targets=its.gallery(targets) if embedded else None, target_ids=None if embedded else its.ids, **fresh
    )
    data._own_reader = reader
    queries = fresh_queries(data, reader, its.bias.size, its.query_bank)
    first = queries.recent if queries.recent is not None else queries.judged.scores  # type: ignore[union-attr]
    tau = its.verdict.tau or judging_temperature(its.method, spread(first))
    return GuardInputs(queries, tau, reader.execution(first))


def judge_again(correction: Correction, evidence: tuple[Evidence, ...], tau: float) -> Verdict:
    """The verdict on a correction from new evidence, and from what it had of the kinds that did not come anew."""
    old = correction.verdict
    anew = {each.source for each in evidence}
    known = tuple(each for each in old.evidence if each.source not in anew)
    size = old.bank_size or correction.bank_size
    return judge((*known, *evidence), bank_size=size, duplicates=old.duplicates, own_log=old.own_log, tau=tau)


def estimate_bias(method: AdditiveMethod, task: Task) -> GuardedBias:
    """The bias of a method on the task that it learns from, and the verdict on it; method: resolved."""
    banks = task.banks
    unused = () if method.name == "none" else _unused(task)
    uncapped = task.own_log and method.name != "none" and not isinstance(method, CappedSN)
    declared = (UNCAPPED.format(method.name),) if uncapped else ()
    if method.strength != "auto":
        facts: Any = {"bank_size": banks.queries.shape[0], "duplicates": task.duplicate_share, "own_log": task.own_log}
        text = "{} was not used: the strength is {:g}, not auto."
        notes = (*declared, *(text.format(argument(each), method.strength) for each in unused))
        return GuardedBias(method.estimate(banks), given_verdict(method.strength, **facts), notes=notes)
    if task.own_bank:
        notes = tuple(f"{argument(each)} was not used: the test queries are the bank." for each in unused)
        return GuardedBias(method.estimate(banks), Verdict("apply", 1.0, reason="transductive"), notes=notes)
    scale = spread(banks.queries) if task.spread is None else task.spread
    believed = (BELIEVED_PRIOR,) if banks.target_prior is not None and task.fresh.judged is None else ()
    own = replace(_judged_bias(method, task, scale), notes=(*task.fresh.notes, *declared, *believed))
    if task.clicks is None:
        return own
    if own.judged is None:
        return replace(own, notes=(*own.notes, UNJUDGED_CLICKS))
    expected = task.clicks + task.clicks.mean()
    mean = float(expected.mean())
    popular = replace(banks, target_prior=expected / mean, observer=None)
    other = _judged_bias(method, replace(task, banks=popular), scale)
    assert other.judged is not None
    if prefers(other.judged, own.judged):
        return replace(other, prior_mean=mean, notes=(*own.notes, PREFERRED_CLICKS))
    return replace(own, notes=(*own.notes, UNWANTED_CLICKS))


def _unused(task: Task) -> tuple[str, ...]:
    """The names of evidence that was given."""
    evidence = {"recent": task.fresh.recent, "judged": task.fresh.judged, "clicks": task.clicks}
    return tuple(name for name, value in evidence.items() if value is not None)


def _judged_bias(method: AdditiveMethod, task: Task, scale: Spread) -> GuardedBias:
    """The bias, also estimated without some of the bank, and what the queries left out and the fresh ones say."""
    size, gallery = task.banks.queries.shape
    limit = task.banks.execution.bytes
    parts = held_out_slice(size) if size >= LARGE else held_out_parts(task.draws)
    at_once = max(1, min(len(parts), limit // MOST_FOR_PARTS // (FOR_EACH_TARGET * gallery)))
    banks = task.banks
    memory = max(limit // MOST_FOR_PARTS, limit - FOR_EACH_TARGET * at_once * gallery)
    if len(parts) > 1 and 4 * size * gallery <= memory // KEPT_SHARE:
        banks = replace(banks, queries=in_memory(banks.queries))  # all of them are read again, to judge by
        memory -= memory // KEPT_SHARE
    banks = replace(banks, execution=replace(banks.execution, memory=memory))
    bias, held_out = _estimate_beside(method, replace(banks, held_out=parts[:at_once]))
    for first in range(at_once, len(parts), at_once):
        others = replace(banks, held_out=parts[first : first + at_once], observer=None)
        held_out += _estimate_beside(method, others)[1]
    tau = judging_temperature(method, scale)
    linear = linear_term(banks, bias.values)
    as_kept = bias.values.astype(np.float32).astype(np.float64)  # in a correction, for later verdicts
    evidence, judged = fresh_evidence(method, as_kept, tau, linear, task.fresh, banks.execution)
    if parts:
        evidence = (bank_evidence(method, replace(banks, held_out=parts), held_out, tau), *evidence)
    verdict = judge(evidence, bank_size=size, duplicates=task.duplicate_share, own_log=task.own_log, tau=tau)
    return GuardedBias(bias, verdict, linear, judged)


def _estimate_beside(method: AdditiveMethod, banks: Banks) -> tuple[Bias, tuple[FloatArray, ...]]:
    """The bias of the bank, and those without each held-out part; where a method gives none, by estimating again."""
    bias = finite(method, method.estimate(banks), banks.queries.shape[1])
    held_out = bias.held_out or tuple(method.estimate(without(banks, rows)).values for rows in banks.held_out)
    return replace(bias, held_out=()), held_out


def fresh_evidence(
    method: AdditiveMethod,
    g: FloatArray,
    tau: float,
    linear: float,
    fresh: FreshQueries,
    execution: Execution = ONCE,
) -> tuple[tuple[Evidence, ...], FloatArray | None]:
    """What recent and judged queries support, and the gains of the judged ones."""
    evidence: list[Evidence] = []
    if fresh.recent is not None:
        rows = sample_rows(fresh.recent.shape[0])
        recent = fresh.recent if rows is None else select(fresh.recent, rows)
        evidence.append(evidence_of(gains(method.reads(recent), g, tau, linear, execution), "recent"))
    values = None
    if fresh.judged is not None:
        values = likelihood_gains(fresh.judged, g, tau, execution)
        evidence.append(evidence_of(values, "judged"))
    return tuple(evidence), values


def likelihood_gains(judged: JudgedQueries, g: FloatArray, tau: float, execution: Execution = ONCE) -> FloatArray:
    """By how much the log-likelihood of the right answers grows: (judged, strengths), in nats."""
    return gains(judged.scores, g, tau, judged.means(g), execution)


def prefers(other: FloatArray, own: FloatArray) -> bool:
    """Whether judged queries prefer another bias: by more than half a paired standard error, each at its best."""
    ahead = other[:, [int(other.mean(axis=0).argmax())]] - own[:, [int(own.mean(axis=0).argmax())]]
    error = standard_errors(ahead, np.full(len(ahead), 1 / len(ahead)))
    return bool(ahead.mean() > CAUTION * error[0])


def finite(method: Method, bias: Bias, gallery: int | None = None) -> Bias:
    """The bias, if it is one finite number for each target; otherwise an error. gallery: how many targets there are."""
    if gallery is not None and bias.values.shape != (gallery,):
        raise InputError(
            f"the bias of {method.name} has shape {bias.values.shape} but there are {gallery:,} targets; estimate must "
            f"return one number for each."
        )
    wrong = np.flatnonzero(~np.isfinite(bias.values))
    if wrong.size:
        raise InputError(
            f"the bias of {method.name} is not a number for {wrong.size:,} of {bias.values.size:,} targets (first: row "
            f"{wrong[0]}); scores this large, or weights this uneven, leave float32: scale them down."
        )
    return bias


def require_served(correction: Correction, *, force: bool) -> Correction:
    """The correction as it may be served: an error if its verdict is to refuse it; forced, it is at full strength."""
    if correction.verdict.served:
        return correction
    if force:
        return correction.at(1.0)
    serving = any(each.state == "serving" for each in correction.exports)
    earlier = " What was exported before serves on until it is rolled back." if serving else ""
    raise InputError(
        f"the verdict on this correction is against serving it. {correction.verdict.sentence}{earlier} To serve it at "
        f"full strength all the same, pass {setting('force', True)}."
    )
