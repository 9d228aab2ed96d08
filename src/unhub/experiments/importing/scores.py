"""Matrices of scores: those of the test set, and those of its banks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unhub.experiments.importing.answers import Answers
from unhub.experiments.importing.bank_scores import bank_scores
from unhub.experiments.importing.gathered import Banks, Gathered, told, unmasked
from unhub.experiments.importing.logits import other_scale, scale_of
from unhub.experiments.importing.matrices import survey, upright
from unhub.experiments.importing.reading import Opener, Published
from unhub.experiments.importing.targets import Targets, distinct


def gather_scores(
    opener: Opener, source: str, banks: Banks, *, masks: str | None, transpose: bool, scale: str | float
) -> Gathered:
    """The test matrix and those of banks: padding left out, repeated targets taken once, logits divided."""
    found = opener.array(source, "scores", dims=(2, 3))
    matrix = upright(found, transpose=transpose)
    answers = _by_shape(found)
    kept = unmasked(opener, masks, matrix.shape[0])
    masked = int((~kept).sum())
    matrix = matrix.only(kept)
    seen = survey(matrix, padded=True)
    kept[np.flatnonzero(kept)[seen.padding]] = False
    width = matrix.shape[1]
    targets = distinct(seen.repeats, "columns of scores") if answers is None else Targets(np.arange(width))
    chosen = scale_of(seen.low, seen.high, scale)
    parts = {"test.scores": replace(matrix.only(~seen.padding), columns=targets.firsts)}
    said = [
        *told(f"masked queries, left out: {masked:,}" if masked else None),
        *told(f"rows of -inf (padding), left out: {seen.padding.sum():,}" if seen.padding.any() else None),
        *told(targets.said, chosen.said),
    ]
    for name, sources in banks.items():
        bank = bank_scores(opener, name, sources, targets, transpose=transpose)
        parts |= bank.parts
        said += told(*bank.said, other_scale(name, bank.largest, seen.largest))
    return Gathered(
        parts={where: replace(each, divisor=chosen.divisor) for where, each in parts.items()},
        kept=kept,
        targets=targets,
        answers=answers,
        settings={} if chosen.cosines else {"tau": "auto"},
        divisor=chosen.divisor,
        said=tuple(said),
    )


def _by_shape(found: Published) -> Answers | None:
    """The target of each row of an array (target, queries of it, target)."""
    if found.array.ndim == 2:
        return None
    own, most, targets = found.array.shape
    if own != targets:
        raise found.problem(
            f"has shape {found.array.shape}; three dimensions are (target, its queries, target), and the first is as "
            f"long as the last."
        )
    return Answers(np.repeat(np.arange(own), most), f"queries by target, up to {most:,} for each")
