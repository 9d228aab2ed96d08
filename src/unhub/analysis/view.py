"""What the page shows for some view settings, all at once, so that everything changes together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from unhub.analysis.changes import ranks
from unhub.analysis.commands import command_of
from unhub.analysis.model import Estimate, Headline, MeasuredEffect, ResultLine, VerdictCard
from unhub.analysis.session import SAVED, BeforeAfter, Session, ViewSettings, listed_name, temperature
from unhub.analysis.verdict import gain_of, headline, measured_effect, verdict_card
from unhub.api.evaluation import MethodResult
from unhub.experiments.run import RETRIEVAL
from unhub.foundation.safe_text import printable
from unhub.methods import title_of

ROUNDS = 2000
"""of the bootstrap behind a verdict, as everywhere else"""


@dataclass(frozen=True)
class View:
    """View settings in numbers: headline, verdict, both lines of the table, and a count for each target."""

    setting: ViewSettings
    tau: float | None
    strength: float | None
    """that is served; None for what is no bias"""
    headline: Headline
    verdict: MeasuredEffect
    """measured on these queries"""
    guard: VerdictCard | None
    """at which strength to serve the correction, from queries that it was not fitted on"""
    lines: list[ResultLine]
    counts_before: list[int]
    counts_after: list[int]
    bias: list[float] | None
    """as it is served; at strength 1 where the strength is 0"""
    better: int
    same: int
    worse: int
    notes: list[str]
    command: str


def view(session: Session, ranked: BeforeAfter) -> View:
    """The view of two rankings."""
    its, chosen, pair = ranked.sample, ranked.settings, ranked.pair
    corrected = chosen.method != "none"
    before, after = (pair.counts(row, chosen.k) for row in (ranked.before, ranked.after))
    gain = None
    if its.judged and corrected:
        gain = gain_of(ranked.before, ranked.after, its.relevance.clusters(), rounds=ROUNDS, seed=session.seed)
    bank, title = ranked.bank, title_of(ranked.method.name)
    shared = 0.0 if bank is None else None if bank.is_test else bank.overlap / its.size
    moves = _moves(ranked) if its.judged else (0, 0, 0)
    lines = [_line(ranked, ranked.before, "none", None, (0, 0, 0))]
    if corrected:
        lines.append(_line(ranked, ranked.after, chosen.method, gain, moves))
    bias = ranked.shown_bias if corrected else None
    return View(
        setting=chosen,
        tau=temperature(ranked.method) if corrected else None,
        strength=None if ranked.guard is None else ranked.strength,
        headline=headline(before, after, chosen.k, its.noun, title if corrected else None),
        verdict=measured_effect(gain, title, corrected=corrected, shared=shared, strength=ranked.strength),
        guard=None if ranked.guard is None else verdict_card(ranked.guard),
        lines=lines,
        counts_before=before.tolist(),
        counts_after=after.tolist(),
        bias=None if bias is None else [round(float(each), 6) for each in bias],
        better=moves[0],
        same=moves[1],
        worse=moves[2],
        notes=[printable(each) for each in (*its.data.notes, *ranked.notes)],
        command=command_of(
            session,
            chosen.direction,
            chosen.bank if bank is None else bank.name,
            ranked.method,
            saved=chosen.method == SAVED,
        ),
    )


def _line(
    ranked: BeforeAfter, row: MethodResult, label: str, gain: Estimate | None, moves: tuple[int, int, int]
) -> ResultLine:
    k = ranked.settings.k
    metrics = (*(RETRIEVAL if ranked.sample.judged else ()), f"skew@{k}", f"antihub@{k}", f"max_n@{k}", f"gini@{k}")
    corrected = label != "none"
    return ResultLine(
        label=label,
        name=listed_name(label, ranked.method.name),
        tau=temperature(ranked.method) if corrected else None,
        transductive=corrected and ranked.transductive,
        values={name: row.values[name] for name in metrics if math.isfinite(row.values.get(name, math.nan))},
        intervals={},
        gain=gain,
        better=moves[0],
        same=moves[1],
        worse=moves[2],
        settings=dict(row.settings) if corrected else {},
        status=row.status,
        seconds=round(row.seconds, 4),
    )


def _moves(ranked: BeforeAfter) -> tuple[int, int, int]:
    """How many queries rank their answer higher, as high, and lower than before."""
    before, after = ranks(ranked.before), ranks(ranked.after)
    return int(np.sum(after < before)), int(np.sum(after == before)), int(np.sum(after > before))
