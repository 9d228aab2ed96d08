"""``fit``: from a bank of past queries to a Correction."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from unhub.api.checkpoint import Rounds, checked_path, identity
from unhub.api.correction import Correction
from unhub.api.correctors import finite
from unhub.api.problem import Problem, check_needs, from_scores, from_vectors, without_self
from unhub.api.progress import Progress, rounds_of, watched
from unhub.api.sources import Metric, Reader, as_in_store, column_ids, refuse_mixture
from unhub.api.temperature import settle_temperature, temperature_given
from unhub.api.unchanged import fingerprints, refuse_change
from unhub.banks import Bank
from unhub.core.fingerprint import fingerprint, row_digests, row_sketches
from unhub.foundation.errors import InputError, UnhubWarning
from unhub.foundation.types import IntArray
from unhub.io import Rows
from unhub.methods import HyperParameters, Method, additive, method
from unhub.stores import is_address

SELF_BANK = (
    "query_bank and targets are the same vectors, so every target is its own best query and little is left to learn; "
    "pass ignore_self=True (--ignore-self) if the gallery is meant to be its own bank."
)


def fit(
    which: str | Method,
    *,
    targets: Any = None,
    query_bank: Any = None,
    target_bank: Any = None,
    scores: Any = None,
    cross_bank_scores: Any = None,
    target_bank_scores: Any = None,
    target_ids: Any = None,
    query_weight: Any = None,
    target_prior: Any = None,
    ignore_self: bool = False,
    metric: Metric = "cosine",
    normalize: bool = False,
    memory: str | int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    keep_checkpoint: bool = False,
    progress: Progress | None = None,
    **given: Unpack[HyperParameters],
) -> Correction:
    """The correction of a gallery: one number per target, estimated from a bank of past queries.

    Embeddings: targets (gallery, dim) and query_bank (bank, dim), for dbsn and dualis also target_bank; arrays,
    memory maps, torch tensors, paths, or for targets the address of a store (qdrant://localhost/photos). Matrices:
    scores (bank, gallery), for dbsn also cross_bank_scores (bank, target bank), for dualis target_bank_scores (target
    bank, gallery).

    Hyper-parameters go by name (tau, iterations, tol, strength, k, alpha, ...); tau="auto" follows the spread of the
    bank's scores. ignore_self: the bank is the gallery itself, and no item speaks for itself. memory, such as "64MB",
    bounds the scores that are held at once, and with it decides what is kept between rounds; without it that is half of
    the memory that is free.

    Vectors that change while they are read, on disk or in memory, are an error and give no correction.

    checkpoint names a file that keeps the last finished round while a long fit runs; resume=True goes on from there.
    The file is gone when the fit is done; keep_checkpoint=True leaves that to you, for when the result is safe. A disk
    that is full or gone does not end the fit: it goes on without the file, and says so in a warning and on the result.

    >>> bank = np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]], dtype=np.float32)
    >>> print(fit("is", targets=np.eye(2, dtype=np.float32), query_bank=bank, tau=0.1).bias.round(3))
    [-0.101  0.101]
    """
    chosen = additive(method(which, given))
    kept_at = checked_path(checkpoint, resume=resume, keep=keep_checkpoint)
    if resume and rounds_of(chosen) is None:
        raise InputError(
            f"{chosen.name} reads the bank once, so there is nothing to resume; leave out resume (--resume)."
        )
    reader = Reader(metric, normalize, memory, progress=progress)
    if is_address(targets):
        reader = as_in_store(reader, targets)
    problem = _open(
        reader,
        vectors={"targets": targets, "query_bank": query_bank, "target_bank": target_bank},
        matrices={
            "scores": scores,
            "cross_bank_scores": cross_bank_scores,
            "target_bank_scores": target_bank_scores,
        },
        target_ids=target_ids,
        marginals={"query_weight": query_weight, "target_prior": target_prior},
    )
    check_needs(chosen, problem.banks)
    digests = None if problem.targets is None else row_digests(problem.targets)
    used = (problem.query_bank, problem.target_bank if chosen.needs else None)
    known = fingerprints(*used)
    own_bank = problem.query_bank is not None and digests is not None and _same(problem.query_bank, digests, known)
    if ignore_self:
        problem = replace(problem, banks=without_self(problem.banks, same=problem.query_bank is None or own_bank))
    elif own_bank:
        warnings.warn(SELF_BANK, UnhubWarning, stacklevel=2)
    settled = settle_temperature(chosen, problem.banks.queries, given=temperature_given(which, given))
    for sentence in settled.warnings:
        warnings.warn(sentence, UnhubWarning, stacklevel=2)
    estimator = additive(settled.method)
    rounds = rounds_of(estimator)
    notes = settled.warnings
    if rounds is None:
        estimated = estimator.estimate(watched(problem.banks, estimator.name, progress))
    else:
        rows = problem.banks.queries.shape[0]
        journal = Rounds(estimator.name, rows, rounds, progress, kept_at, resume=resume, keep=keep_checkpoint)
        if kept_at is not None:
            journal.identity = identity(estimator, problem, ignore_self, metric, reader.scaled)
        with journal.kept():
            estimated = estimator.estimate(replace(problem.banks, journal=journal))
        notes += journal.notes
    gallery = {} if digests is None else {"targets": fingerprint(digests)}
    refuse_change(known | gallery, *used, problem.targets, when="during")
    bias = finite(estimator, estimated)
    names = column_ids(target_ids, problem.banks.queries.shape[1], "scores") if problem.targets is None else None
    return Correction(
        method=estimator,
        bias=(estimator.strength * bias.values).astype(np.float32),
        status=bias.status,
        iterations=bias.iterations,
        marginal_error=bias.marginal_error,
        error_bound=None if bias.error_bound is None else estimator.strength * bias.error_bound,
        plan=bias.plan,
        offset=bias.offset,
        potentials=bias.potentials,
        bank_size=problem.banks.queries.shape[0],
        target_bank_size=_rows_of(problem.banks.targets) if "targets" in estimator.needs else 0,
        query_weight=problem.banks.query_weight,
        prior_mean=problem.prior_mean,
        ids=names if problem.targets is None else problem.targets.ids,
        digests=digests,
        bank_fingerprints=known,
        sketches=row_sketches(problem.targets) if problem.targets is not None and is_address(targets) else None,
        targets=problem.targets,
        query_bank=problem.query_bank,
        target_bank=problem.target_bank if "targets" in estimator.needs else None,
        reader=replace(reader, fitted=True, progress=None),
        warnings=notes,
    )


def _same(rows: Rows, digests: IntArray, known: Mapping[str, str]) -> bool:
    """Whether these are the vectors of the digests; their number mostly tells at once."""
    if len(rows) != digests.size:
        return False
    return (known.get(rows.name) or fingerprint(row_digests(rows))) == fingerprint(digests)


def _rows_of(bank: Bank | None) -> int:
    return 0 if bank is None else bank.shape[0]


def _open(
    reader: Reader,
    *,
    vectors: Mapping[str, Any],
    matrices: Mapping[str, Any],
    target_ids: Any,
    marginals: dict[str, Any],
) -> Problem:
    """The problem behind the arguments of ``fit``: embeddings or matrices, and not a mixture."""
    refuse_mixture(vectors, matrices)
    if any(value is not None for value in matrices.values()):
        if matrices["scores"] is None:
            raise InputError("scores is missing; give the matrix of bank queries x gallery.")
        scores = reader.scores(matrices["scores"], "scores")
        others = matrices["cross_bank_scores"], matrices["target_bank_scores"]
        return from_scores(reader, scores, *others, **marginals)
    for name, what in (("targets", "the embeddings of the gallery"), ("query_bank", "embeddings of past queries")):
        if vectors[name] is None:
            raise InputError(f"{name} is missing; give {what}, or a matrix of scores.")
    targets = reader.vectors(vectors["targets"], "targets", ids=target_ids)
    query_bank = reader.vectors(vectors["query_bank"], "query_bank", like=targets)
    return from_vectors(reader, targets, query_bank, vectors["target_bank"], **marginals)
