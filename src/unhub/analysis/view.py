"""What the page shows of a setting, all of it at once, so that everything changes together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from unhub.analysis.changes import ranks
from unhub.analysis.material import SAVED, UNSEEN, Subject
from unhub.analysis.model import Headline, Line, Range, Verdict
from unhub.analysis.names import listed_name, shown_name
from unhub.analysis.stage import JUDGED, Scene, Setting, temperature
from unhub.analysis.telling import counts_of, gain_of, headline, verdict
from unhub.api.evaluation import MethodResult
from unhub.foundation.safe_text import printable
from unhub.methods import settings

ROUNDS = 2000
"""of the bootstrap behind a verdict, as everywhere else"""


@dataclass(frozen=True)
class View:
    """A setting in numbers: the sentence on top, the verdict, both lines of the table, and a count for each target."""

    setting: Setting
    tau: float | None
    headline: Headline
    verdict: Verdict
    lines: list[Line]
    counts_before: list[int]
    counts_after: list[int]
    bias: list[float] | None
    better: int
    same: int
    worse: int
    notes: list[str]
    command: str


def view(subject: Subject, scene: Scene) -> View:
    """The view of a scene."""
    its, setting = scene.material, scene.setting
    corrected = setting.method != "none"
    gallery = its.relevance.gallery
    before, after = (counts_of(row, gallery, setting.k) for row in (scene.before, scene.after))
    gain = None
    if its.judged and corrected:
        gain = gain_of(scene.before, scene.after, its.relevance.clusters(), rounds=ROUNDS, seed=its.seed)
    learnt = scene.learnt
    shared = 0.0 if learnt is None else None if learnt.scores is None else learnt.shared / its.asked
    name = shown_name(scene.method.name)
    standing = _standing(scene) if its.judged else (0, 0, 0)
    lines = [_line(scene, scene.before, "none", None, (0, 0, 0))]
    if corrected:
        lines.append(_line(scene, scene.after, setting.method, gain, standing))
    bias = scene.after.bias if corrected else None
    return View(
        setting=setting,
        tau=temperature(scene.method) if corrected else None,
        headline=headline(before, after, setting.k, its.noun, name if corrected else None),
        verdict=verdict(gain, name, corrected=corrected, shared=shared),
        lines=lines,
        counts_before=before.tolist(),
        counts_after=after.tolist(),
        bias=None if bias is None else [round(float(each), 6) for each in bias],
        better=standing[0],
        same=standing[1],
        worse=standing[2],
        notes=[printable(each) for each in (*its.notes, *_notes(scene), *scene.warnings)],
        command=subject.command(
            setting.direction,
            setting.bank if learnt is None else learnt.name,
            scene.method,
            saved=setting.method == SAVED,
        ),
    )


def _notes(scene: Scene) -> tuple[str, ...]:
    """What is to be said of the bank: a correction has learnt from all of its own, which may not be here."""
    if scene.setting.method == SAVED:
        return (UNSEEN,) if scene.learnt is None else ()
    return () if scene.learnt is None or scene.setting.method == "none" else scene.learnt.notes


def _line(scene: Scene, row: MethodResult, label: str, gain: Range | None, standing: tuple[int, int, int]) -> Line:
    k = scene.setting.k
    shown = (*(JUDGED if scene.material.judged else ()), f"skew@{k}", f"antihub@{k}", f"max_n@{k}", f"gini@{k}")
    values = {name: row.values[name] for name in shown if name in row.values and math.isfinite(row.values[name])}
    return Line(
        label=label,
        name=listed_name(label, scene.method.name),
        tau=temperature(scene.method) if label != "none" else None,
        transductive=label != "none" and scene.transductive,
        values=values,
        intervals={},
        gain=gain,
        better=standing[0],
        same=standing[1],
        worse=standing[2],
        settings=settings(scene.method) if label != "none" else {},
        status=row.status,
        seconds=round(row.seconds, 4),
    )


def _standing(scene: Scene) -> tuple[int, int, int]:
    """How many queries rank their answer higher, as high, and lower than before."""
    before, after = ranks(scene.before), ranks(scene.after)
    return int(np.sum(after < before)), int(np.sum(after == before)), int(np.sum(after > before))
