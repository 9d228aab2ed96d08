"""The story of a correction: all that a report shows, from a subject to plain data."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unhub.analysis.bank_facts import bank_facts
from unhub.analysis.convergence import convergence
from unhub.analysis.correction_subject import CorrectionSubject
from unhub.analysis.examples import examples
from unhub.analysis.experiment_subject import ExperimentSubject
from unhub.analysis.found_sweeps import found_sweeps
from unhub.analysis.heat_map import heat_map
from unhub.analysis.model import Card, Sweep, Verdict
from unhub.analysis.names import shown_name
from unhub.analysis.results_table import results_table
from unhub.analysis.story_model import Examples, Story
from unhub.analysis.telling import counts_of, headline, verdict
from unhub.analysis.top_hubs import top_hubs
from unhub.analysis.unevenness import lorenz, occurrences
from unhub.analysis.whole import Whole
from unhub.analysis.whole_correction import whole_correction
from unhub.analysis.whole_experiment import whole_experiment
from unhub.foundation import VERSION
from unhub.foundation.errors import InputError
from unhub.foundation.types import Progress
from unhub.methods import Method

STEPS = ("hubs", "bank", "rounds", "sweeps")


@dataclass(frozen=True)
class Asked:
    """What a report is asked for; what is not said is taken from the subject."""

    direction: str | None = None
    bank: str | None = None
    method: str | None = None
    sweeps: tuple[Path, ...] = ()
    """folders in which sweeps may have been kept"""
    command: str = ""
    """the command that makes the report again"""
    verdict: Verdict | None = None
    """of somebody who has judged already, on queries of their own"""
    methods: Sequence[Method] | None = None
    """with settings that somebody has chosen"""
    title: str | None = None
    subtitle: str | None = None
    noun: str | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)


def story(
    subject: ExperimentSubject | CorrectionSubject, asked: Asked | None = None, *, progress: Progress | None = None
) -> Story:
    """The whole story of an experiment or of a correction."""
    wanted = asked or Asked()
    whole = _whole(subject, wanted, progress)
    given, gallery = whole.given, whole.given.relevance.gallery
    name = shown_name(whole.after.method)
    noun = wanted.noun or given.noun
    before, after = (counts_of(row, gallery, 1) for row in (whole.before, whole.after))
    _tell(progress, 0)
    table = results_table(whole)
    gain = next(line.gain for line in table.lines if line.label == whole.label)
    judged = wanted.verdict or verdict(gain, name, corrected=True, shared=whole.shared)
    hubs, changed = top_hubs(whole), examples(whole)
    _tell(progress, 1)
    facts = bank_facts(whole)
    _tell(progress, 2)
    rounds, unsaid = convergence(whole)
    _tell(progress, 3)
    sweeps, left_out = _sweeps(subject, whole, wanted.sweeps)
    return Story(
        title=wanted.title or subject.title,
        subtitle=wanted.subtitle or whole.subtitle,
        noun=noun,
        direction=given.direction,
        bank=whole.bank.name,
        method=whole.after.method,
        name=name,
        queries=given.relevance.queries,
        targets=gallery,
        judged=given.judged,
        headline=headline(before, after, 1, noun, name),
        verdict=judged,
        table=table,
        occurrences=occurrences(whole),
        lorenz=lorenz(whole),
        heat=heat_map(whole),
        hubs=hubs,
        examples=changed,
        bank_facts=facts,
        convergence=rounds,
        sweeps=sweeps,
        card=_card(whole, wanted.command),
        notes=[*wanted.notes, *given.notes, *_unplayed(whole), *unsaid, *left_out],
        pictures=_pictures(whole, [each.target for each in hubs], changed),
    )


def _whole(subject: ExperimentSubject | CorrectionSubject, asked: Asked, progress: Progress | None) -> Whole:
    if isinstance(subject, ExperimentSubject):
        return whole_experiment(subject, asked.direction, asked.bank, asked.method, progress)
    if asked.direction not in (None, *subject.directions):
        raise InputError(f"there is no direction {asked.direction!r}; there is {subject.directions[0]}.")
    return whole_correction(subject, asked.bank, asked.method, progress, asked.methods)


def _sweeps(
    subject: ExperimentSubject | CorrectionSubject, whole: Whole, folders: Iterable[Path]
) -> tuple[list[Sweep], list[str]]:
    if isinstance(subject, CorrectionSubject):
        return [], ["Sweeps are of experiments, so that none is shown here."] if list(folders) else []
    return found_sweeps(folders, subject.experiment, str(whole.evaluation.settings["direction"]))


def _card(whole: Whole, command: str) -> Card:
    own: dict[str, Any] = {"method": whole.after.method} | dict(whole.after.settings)
    ended = {
        "status": whole.after.status,
        "rounds": whole.after.iterations,
        "marginal error": whole.after.marginal_error,
    }
    if whole.after.status is not None:
        own |= {name: value for name, value in ended.items() if value is not None}
    said = whole.evaluation.settings
    counted = {"test queries": said["queries"], "targets": said["gallery"], "bootstrap rounds": said["resamples"]}
    return Card(
        settings=own | {name: value for name, value in whole.settings.items() if name not in own} | counted,
        files=whole.files,
        seed=whole.given.seed,
        versions={"unhub": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        warnings=whole.warnings,
        command=command,
    )


def _pictures(whole: Whole, hubs: list[int], changed: Examples | None) -> dict[str, Path]:
    """The pictures of whom the story speaks, if they lie in the folder of the media once links are followed."""
    folder = whole.given.media_folder
    if folder is None:
        return {}
    moved = [] if changed is None else [*changed.better, *changed.worse]
    wanted = {("t", row) for row in hubs} | {("t", row) for each in moved for row in each.targets if row >= 0}
    wanted |= {("q", each.query) for each in moved}
    found = {}
    for side, row in sorted(wanted):
        media = whole.given.sides[0 if side == "q" else 1].media[row]
        if media is not None and media.kind == "image" and media.inside(folder):
            found[f"{side}{row}"] = media.path
    return found


def _unplayed(whole: Whole) -> list[str]:
    """That sounds and videos are not in a report, where there are some."""
    kinds = {media.kind for media in whole.given.sides[1].media if media is not None} - {"image"}
    return [f"No {' or '.join(sorted(kinds))} is in a report; unhub serve plays them."] if kinds else []


def _tell(progress: Progress | None, step: int) -> None:
    if progress is not None:
        progress(f"report: {STEPS[step]}", step, len(STEPS))
