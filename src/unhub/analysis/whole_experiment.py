"""An experiment whole: the numbers that ``unhub reproduce`` and ``unhub evaluate`` give."""

from __future__ import annotations

from unhub.analysis.experiment_subject import ExperimentSubject
from unhub.analysis.material import TEST
from unhub.analysis.whole import Whole, bank_of, label_of, notes_of, worth_trying
from unhub.experiments.hashes import hash_of, hashes
from unhub.experiments.run import Run
from unhub.experiments.sources import trial_of
from unhub.foundation.errors import InputError
from unhub.foundation.types import Progress


def whole_experiment(
    subject: ExperimentSubject,
    direction: str | None,
    bank: str | None,
    method: str | None,
    progress: Progress | None = None,
) -> Whole:
    """One direction of an experiment with one bank; the first of each where none is named."""
    its = subject.experiment
    run = Run(its, subject.preset, progress)
    way_name = direction or subject.directions[0]
    if way_name not in subject.directions:
        raise InputError(f"there is no direction {way_name!r}; there are {', '.join(subject.directions)}.")
    way = run.ways()[way_name]
    given = subject.given(way_name)
    chosen = bank_of(given, bank)
    name = None if chosen.name == TEST else chosen.name
    evaluation = run.evaluation(way, name)
    label = label_of(evaluation, method)
    upper = run.evaluation(way, None) if worth_trying(given, chosen) else None
    about = {"protocol": subject.preset.name, "task": its.task, "direction": way_name, "bank": chosen.name}
    about |= {"ties": evaluation.settings["ties"]} | dict(its.settings)
    return Whole(
        given=given,
        bank=chosen,
        evaluation=evaluation,
        label=label,
        trial=lambda: trial_of(its, name, way),
        upper=upper,
        subtitle=_subtitle(subject, way_name, chosen.name),
        settings=about,
        files={"experiment file": hash_of(its.path)} | hashes(its),
        warnings=notes_of(evaluation, upper),
    )


def _subtitle(subject: ExperimentSubject, direction: str, bank: str) -> str:
    learnt = "the test queries are the bank" if bank == TEST else f"learnt from the bank {bank}"
    return f"Direction {direction}, {learnt}."
