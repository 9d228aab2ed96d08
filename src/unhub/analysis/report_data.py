"""All that a report shows, from a session to plain data."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unhub.analysis.bank_facts import bank_facts
from unhub.analysis.changes import examples
from unhub.analysis.convergence import convergence
from unhub.analysis.distributions import heat_map, lorenz, occurrences
from unhub.analysis.evaluated import EvaluatedDataset, evaluate_dataset, subtitle
from unhub.analysis.hubs import top_hubs
from unhub.analysis.model import Examples, HistoryPoint, MeasuredEffect, Provenance, ReportData
from unhub.analysis.results_table import results_table
from unhub.analysis.saved_sweeps import saved_sweeps
from unhub.analysis.session import Session
from unhub.analysis.verdict import headline, measured_effect, verdict_card
from unhub.foundation import VERSION
from unhub.foundation.types import Progress
from unhub.methods import Method, title_of

STEPS = ("hubs", "bank", "rounds", "sweeps")


def report_data(
    session: Session,
    *,
    direction: str | None = None,
    bank: str | None = None,
    method: str | None = None,
    methods: Sequence[Method] | None = None,
    sweeps: Sequence[Path] = (),
    command: str = "",
    judgement: MeasuredEffect | None = None,
    title: str | None = None,
    about: str | None = None,
    noun: str | None = None,
    notes: Sequence[str] = (),
    history: Sequence[HistoryPoint] = (),
    progress: Progress | None = None,
) -> ReportData:
    """The report of a session.

    direction, bank, method: what to show; the first by default, dbsn or sn, or the method of a correction.
    methods: with settings of their own, in the table of a correction. sweeps: folders that may hold saved sweeps.
    command: makes the report again. judgement: an effect measured on other queries. title, about, noun, notes: words
    for it. history: what was monitored of the correction, oldest first.
    """
    evaluated = evaluate_dataset(session, direction, bank, method, methods, progress)
    pair, data = evaluated.pair, session.data
    name = title_of(evaluated.after.method)
    noun = noun or session.noun(evaluated.direction)

    def step(at: int) -> None:
        if progress is not None:
            progress(f"report: {STEPS[at]}", at, len(STEPS))

    step(0)
    table = results_table(evaluated)
    gain = next(line.gain for line in table.lines if line.label == evaluated.label)
    hubs, changed = top_hubs(pair, evaluated.bank), examples(pair) if session.judged else None
    step(1)
    facts = bank_facts(evaluated)
    step(2)
    rounds, not_run = convergence(evaluated)
    step(3)
    found, left_out = saved_sweeps(sweeps, data, evaluated.way) if data.correction is None else ([], [])
    if data.correction is not None and sweeps:
        left_out = ["Sweeps are of experiments, so none is shown for a correction."]
    counts = [pair.counts(row, 1) for row in (pair.before, pair.after)]
    served = None if evaluated.after.verdict is None else evaluated.after.verdict.strength
    return ReportData(
        title=title or session.title,
        subtitle=about or subtitle(evaluated),
        noun=noun,
        direction=evaluated.direction,
        bank=evaluated.bank,
        method=evaluated.after.method,
        name=name,
        queries=pair.relevance.queries,
        targets=pair.relevance.gallery,
        judged=session.judged,
        headline=headline(counts[0], counts[1], 1, noun, name),
        verdict=judgement or measured_effect(gain, name, corrected=True, shared=evaluated.shared, strength=served),
        guard=None if evaluated.after.verdict is None else verdict_card(evaluated.after.verdict),
        table=table,
        occurrences=occurrences(pair),
        lorenz=lorenz(pair),
        heat=heat_map(pair, session.whole, evaluated.way),
        hubs=hubs,
        examples=changed,
        bank_facts=facts,
        convergence=rounds,
        sweeps=found,
        card=_provenance(evaluated, command),
        notes=[*notes, *data.notes, *_unplayed(evaluated), *not_run, *left_out],
        history=list(history),
        pictures=_pictures(evaluated, [each.target for each in hubs], changed),
    )


def _provenance(evaluated: EvaluatedDataset, command: str) -> Provenance:
    after, how = evaluated.after, evaluated.evaluation.settings
    settings: dict[str, Any] = {"method": after.method} | dict(after.settings)
    if after.status is not None:
        ended = {"status": after.status, "rounds": after.iterations, "marginal error": after.marginal_error}
        settings |= {name: value for name, value in ended.items() if value is not None}
    counts = {"test queries": how["queries"], "targets": how["gallery"], "bootstrap rounds": how["resamples"]}
    return Provenance(
        settings=settings
        | {name: value for name, value in evaluated.settings.items() if name not in settings}
        | counts,
        files=evaluated.files,
        seed=evaluated.session.seed,
        versions={"unhub": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        warnings=list(evaluated.notes),
        command=command,
    )


def _pictures(evaluated: EvaluatedDataset, hubs: list[int], changed: Examples | None) -> dict[str, Path]:
    """The pictures of hubs and examples, if they are inside the media folder once links are followed."""
    folder = evaluated.session.data.media_folder
    if folder is None:
        return {}
    moved = [] if changed is None else [*changed.better, *changed.worse]
    wanted = {("t", row) for row in hubs} | {("t", row) for each in moved for row in each.targets if row >= 0}
    wanted |= {("q", each.query) for each in moved}
    pictures = {}
    for side, row in sorted(wanted):
        media = evaluated.items[0 if side == "q" else 1].media[row]
        if media is not None and media.kind == "image" and media.inside(folder):
            pictures[f"{side}{row}"] = media.path
    return pictures


def _unplayed(evaluated: EvaluatedDataset) -> list[str]:
    """A note that sounds and videos are not in a report, where there are some."""
    kinds = {media.kind for media in evaluated.items[1].media if media is not None} - {"image"}
    return [f"The report has no {' or '.join(sorted(kinds))}; unhub serve plays them."] if kinds else []
