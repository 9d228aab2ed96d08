"""``fit``: from a bank of past queries to a Correction."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np

from unhub.api.checkpoint import Rounds, checked_path, identity
from unhub.api.correction import Correction
from unhub.api.facade import dataset_of, facade, warn, with_settings
from unhub.api.fitted_vectors import fingerprints, refuse_change
from unhub.api.guard import GuardedBias, estimate_bias, finite
from unhub.core.execution import Execution, Executor
from unhub.core.fingerprint import fingerprint, row_digests, row_sketches
from unhub.dataset import Dataset, Task
from unhub.dataset.bank_audit import bank_findings, own_gallery
from unhub.dataset.task import check_needs, without_self
from unhub.executors import processors
from unhub.foundation.errors import InputError
from unhub.foundation.types import IntArray, Progress, Similarity
from unhub.io import Rows
from unhub.methods import AdditiveMethod, HyperParameters, Method, additive
from unhub.methods import method as method_by_name
from unhub.methods.sn_dbsn import for_own_log
from unhub.scores import with_progress
from unhub.stores import is_address


@facade
def fit(
    method: str | Method,
    data: Dataset | None = None,
    *,
    bank: str | None = None,
    targets: Any = None,
    query_bank: Any = None,
    target_bank: Any = None,
    scores: Any = None,
    cross_bank_scores: Any = None,
    target_bank_scores: Any = None,
    target_ids: Any = None,
    query_weight: Any = None,
    target_prior: Any = None,
    recent: Any = None,
    judged: Any = None,
    judged_queries: Any = None,
    clicks: Any = None,
    own_log: bool = False,
    duplicates: Literal["drop", "weigh"] = "drop",
    ignore_self: bool = False,
    metric: Similarity = "cosine",
    normalize: bool = False,
    memory: str | int | None = None,
    executor: Execution | Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    keep_checkpoint: bool = False,
    progress: Progress | None = None,
    **hyper_parameters: Unpack[HyperParameters],
) -> Correction:
    """The correction of a gallery: one number per target, estimated from a bank of past queries.

    Every array argument takes an array, a memory map, a torch tensor or a path. It is an error if vectors change, on
    disk or in memory, while they are read.

    method: a name of ``unhub.ADDITIVE``, or an object such as ``unhub.methods.SN(tau=0.02)``.
    data: a Dataset in place of the arrays below.
    bank: which bank of the dataset; may be left out where it has only one.
    targets: (gallery, dim) embeddings of the gallery, or the address of a store (qdrant://localhost/photos).
    query_bank: (bank, dim) embeddings of past queries. The gallery itself is refused unless ``ignore_self`` or a
        strength is given.
    target_bank: (target bank, dim) embeddings of other targets, for dbsn and dualis.
    scores: (bank, gallery) a matrix instead of embeddings.
    cross_bank_scores: (bank, target bank), for dbsn beside scores.
    target_bank_scores: (target bank, gallery), for dualis beside scores.
    target_ids: ids of the gallery, if it comes without.
    query_weight: (bank,) how much each bank query counts.
    target_prior: (gallery,) how often each target is expected; "clicks": as often as ``clicks`` say, if judged queries
        prefer that.
    recent: (recent, dim) queries that are asked now, none of them in the bank, to judge the bias by; 200 are wanted, 50
        are the least. Beside scores: (recent, gallery) scores.
    judged: which targets are right for which recent query: an int array (query -> target, -1 where nobody has judged),
        a list of sets, pairs, or a path; 50 judged queries are wanted, 20 are the least. Clicks are not judgements.
    judged_queries: (judged, dim) the queries of ``judged``, where they are not the recent ones.
    clicks: which targets were clicked for which bank query, for target_prior="clicks".
    own_log: the bank is a log of this gallery's own traffic, with its popular targets: sn becomes capped_sn, and recent
        queries are not asked for.
    duplicates: with strength="auto", "drop" counts each different bank query once, "weigh" as often as it comes.
    ignore_self: the bank is the gallery itself; the score of an item with itself is left out.
    metric: "cosine" or "ip" (inner product).
    normalize: scale vectors to unit length.
    memory: such as "64MB": bounds the scores held at once, and decides what is kept between rounds; half of the free
        memory by default.
    executor: how to compute: an ``unhub.executors`` object that holds the shards of the bank, or an ``Execution`` with
        threads, compiled kernels and memory.
    checkpoint: a file for the last finished round of a long fit, removed when the fit is done. If the disk is full, the
        fit goes on without it and warns.
    resume: continue from the checkpoint.
    keep_checkpoint: do not remove the checkpoint at the end.
    progress: called with the name of the work, rows read and rows to read.
    hyper_parameters: by name (tau, iterations, tol, strength, k, alpha, ...); tau="auto" follows the spread of
        the bank's scores, and strength="auto" what queries support that the bias was not fitted on.

    Returns a Correction.

    >>> bank = np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]], dtype=np.float32)
    >>> print(fit("is", targets=np.eye(2, dtype=np.float32), query_bank=bank, tau=0.1).bias.round(3))
    [-0.101  0.101]
    """
    arguments = locals()
    whole = dataset_of(fit, arguments)
    chosen = additive(with_settings(method, method_by_name(method, hyper_parameters), whole, hyper_parameters))
    if whole.own_log:
        chosen = for_own_log(chosen)
    kept_at = checked_path(checkpoint, resume=resume, keep=keep_checkpoint)
    if resume and chosen.rounds is None:
        raise InputError("resume", f"has no use: {chosen.name} reads the bank once", "leave it out")
    name = whole.bank_name(bank)
    with whole.words(name, "forward"):
        task = whole.task("forward", name, fit=True, executor=executor, progress=progress)
        journal = Rounds(
            chosen.name, progress=progress, path=kept_at, resume=resume, keep=keep_checkpoint,
            clock=task.banks.execution.clock,
        )  # fmt: skip
        try:
            correction = _fitted(chosen, whole, task, journal)
        except BaseException:
            warn((*journal.remarks, *journal.notes))  # a checkpoint that could not be written matters most now
            raise
    refused = () if correction.verdict.served else (correction.verdict.sentence,)
    warn((*journal.remarks, *correction.notes, *refused))
    return correction


def _fitted(chosen: AdditiveMethod, data: Dataset, task: Task, journal: Rounds) -> Correction:
    check_needs(chosen, task.banks)
    digests = None if task.targets is None else row_digests(task.targets, threads=processors())
    used = (task.query_bank, task.target_bank if chosen.requires else None)
    known = fingerprints(*used)
    own_bank = task.query_bank is not None and digests is not None and _same(task.query_bank, digests, known)
    notes: tuple[str, ...] = ()
    if data.ignore_self:
        task = replace(task, banks=without_self(task.banks, same=task.query_bank is None or own_bank))
    task = replace(task, masked=data.ignore_self, transductive=False)
    findings = (*own_gallery(task, judged=chosen.strength == "auto"), *bank_findings(task))
    notes += tuple(each.sentence for each in findings)
    resolved, task = task.resolve(chosen), task.learned_by(chosen)
    notes += resolved.notes
    estimator = additive(resolved.method)
    result = _estimated(estimator, data, task, journal)
    notes += result.notes
    gallery = {} if digests is None else {"targets": fingerprint(digests)}
    refuse_change(known | gallery, *used, task.targets, when="during")
    if task.query_bank is not None and task.duplicate_share:
        known = known | fingerprints(task.query_bank)
    bias = finite(estimator, result.bias, task.banks.queries.shape[1])
    in_store = task.targets is not None and is_address(task.targets.source)
    second = task.banks.targets
    return Correction(
        method=estimator,
        bias=bias.values.astype(np.float32),
        status=bias.status,
        iterations=bias.iterations,
        marginal_error=bias.marginal_error,
        verdict=result.verdict,
        error_bound=bias.error_bound,
        plan=bias.plan,
        bank_size=task.banks.queries.shape[0],
        target_bank_size=second.shape[0] if second is not None and "targets" in estimator.requires else 0,
        ids=data.target_ids() if task.targets is None else task.targets.ids,
        targets=task.targets,
        query_bank=task.query_bank,
        target_bank=task.target_bank if "targets" in estimator.requires else None,
        notes=notes + journal.notes,
        _offset=bias.offset,
        _potentials=bias.potentials,
        _query_weight=task.banks.query_weight,
        _prior_mean=result.prior_mean or task.prior_mean,
        _linear=result.linear,
        _digests=digests,
        _bank_fingerprints=known,
        _sketches=row_sketches(task.targets) if task.targets is not None and in_store else None,
        _reader=replace(data.reader, fitted=True, tensors=True),
    )


def _estimated(estimator: AdditiveMethod, data: Dataset, task: Task, journal: Rounds) -> GuardedBias:
    """The bias and the verdict on it; the journal follows the rounds of an iterative method."""
    rounds = estimator.rounds
    if rounds is None:
        banks = with_progress(task.banks, estimator.name, journal.progress)
        return estimate_bias(estimator, replace(task, banks=banks))
    journal.rows, journal.rounds = task.banks.queries.shape[0], rounds
    if journal.path is not None:
        reader = data.reader
        journal.identity = identity(estimator, task, data.ignore_self, reader.metric, reader.scaled)
    with journal.kept():
        return estimate_bias(estimator, replace(task, banks=replace(task.banks, observer=journal)))


def _same(rows: Rows, digests: IntArray, known: Mapping[str, str]) -> bool:
    """Whether these are the vectors of the digests; most differ in number already."""
    if len(rows) != digests.size:
        return False
    return (known.get(rows.name) or fingerprint(row_digests(rows))) == fingerprint(digests)
