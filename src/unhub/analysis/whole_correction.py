"""A correction whole: as it was saved, beside every other method that its bank gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unhub.analysis.beside import beside_own
from unhub.analysis.changes import RANK
from unhub.analysis.correction_subject import BANK, CorrectionSubject
from unhub.analysis.given import Given, GivenBank
from unhub.analysis.material import SAVED, TEST, UNSEEN
from unhub.analysis.names import shown_name
from unhub.analysis.whole import Whole, bank_of, label_of, notes_of, worth_trying
from unhub.api.evaluation import Evaluation
from unhub.api.running import Options, run
from unhub.dataset import Dataset
from unhub.dataset import Task as Trial
from unhub.dataset.sources import Bank
from unhub.experiments.experiment import SEPARATOR
from unhub.experiments.hashes import hash_of
from unhub.experiments.run import ONE_BANK, RETRIEVAL, SKEWNESS, TWO_BANKS
from unhub.foundation.types import Progress
from unhub.methods import Method, method

RESAMPLES = 1000
PARTS = ("targets", "queries", "scores", "target_bank", "captions", "target_captions", "bank_captions")


def whole_correction(
    subject: CorrectionSubject,
    bank: str | None,
    method: str | None,
    progress: Progress | None = None,
    methods: Sequence[Method] | None = None,
) -> Whole:
    """A correction with the queries that are given beside it, or with those of its bank.

    methods: what stands in the table besides, where somebody has chosen their settings.
    """
    given = subject.given()
    chosen = bank_of(given, bank)
    own = subject.correction.method
    said: list[str] = []
    asked = bool(subject.beside.queries or subject.beside.scores)
    beside = [each for each in methods or _usual(given, chosen, own) if each.name not in ("none", own.name)]
    evaluation = _evaluated(subject, given, chosen, [own, *beside], progress, saved=True)
    if chosen.name == TEST and asked:  # the bank that it was fitted on is another one
        rows = dict(evaluation.rows) | {own.name: replace(evaluation[own.name], transductive=False)}
        evaluation = replace(evaluation, rows=rows)
        said.append(UNSEEN)
    label = label_of(evaluation, own.name if method in (None, SAVED) else method)
    upper = None
    if asked and worth_trying(given, chosen):
        test = next(each for each in given.banks if each.name == TEST)
        others = _usual(given, test, own)
        upper = _evaluated(subject, given, test, others, progress, saved=False)
    return Whole(
        given=given,
        bank=chosen,
        evaluation=evaluation,
        label=label,
        trial=lambda: _trial(subject, given, chosen),
        upper=upper,
        saved=label == own.name,
        subtitle=_subtitle(subject, given),
        settings=_settings(subject, chosen),
        files=_files(subject),
        warnings=[*subject.correction.warnings, *notes_of(evaluation, upper), *said],
    )


def _usual(given: Given, bank: GivenBank, own: Method) -> list[Method]:
    """IS, DIS and SN, with a target bank DualIS, DualDIS and DBSN too, each at the correction's temperature."""
    names = (*ONE_BANK, *(TWO_BANKS if bank.targets is not None else ()))
    return [beside_own(own, name) for name in names]


def _evaluated(
    subject: CorrectionSubject,
    given: Given,
    bank: GivenBank,
    chosen: Sequence[Method],
    progress: Progress | None,
    *,
    saved: bool,
) -> Evaluation:
    """Every method on the whole, as ``unhub.evaluate`` has it; the saved one with the bias that is in its file."""
    wanted = (*RETRIEVAL, *SKEWNESS, RANK) if given.judged else (*SKEWNESS[:-1], "antihub@10", "gini@10")
    options = Options(
        tuple(dict.fromkeys(wanted)), given.ties, None, given.ignore_self, RESAMPLES, given.seed, False, progress
    )
    everyone = [method("none"), *chosen]
    known = {subject.correction.method.name: given.bias} if saved and given.bias is not None else None
    return run(_trial(subject, given, bank), everyone, options, known)


def _trial(subject: CorrectionSubject, given: Given, bank: GivenBank) -> Trial:
    its, beside = subject.correction, subject.beside
    reading = {"metric": its.metric, "normalize": its.normalize, "memory": its.memory}
    common: dict[str, Any] = {"relevant": given.relevance, "allow_overlap": True, "allow_empty": True, **reading}
    if given.scores is not None:
        return Dataset(scores=given.scores, **common).task()
    banks = {}
    if bank.name == BANK:
        second = its.target_bank if beside.target_bank is None else beside.target_bank
        banks[BANK] = Bank(its.query_bank, second, its.weights)
    asked = its.query_bank if beside.queries is None else beside.queries
    return Dataset(queries=asked, targets=subject.gallery, banks=banks, **common).task(
        "forward", next(iter(banks), None)
    )


def _settings(subject: CorrectionSubject, bank: GivenBank) -> dict[str, Any]:
    its = subject.correction
    return {
        "metric": its.metric,
        "normalize": its.normalize,
        "bank": bank.name,
        "queries of its bank": its.bank_size,
        "gallery fingerprint": its.fingerprint,
    }


def _subtitle(subject: CorrectionSubject, given: Given) -> str:
    own = subject.correction.method
    return f"A correction by {shown_name(own.name)}, of {given.relevance.gallery:,} targets."


def _files(subject: CorrectionSubject) -> dict[str, str]:
    """The SHA-256 of the correction and of what was given beside it."""
    named = {"correction": subject.path} | {part: getattr(subject.beside, part) for part in PARTS}
    named["relevant"] = subject.beside.relevant_flag
    found = {}
    for part, source in named.items():
        path = Path((source or "").partition(SEPARATOR)[0]).expanduser()
        if source and path.exists():
            found[part] = hash_of(path)
    return found
