"""Published files, and what they cannot tell themselves: the scale of their scores, among others."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unhub.foundation.errors import InputError
from unhub.foundation.wording import argument
from unhub.methods import COSINE_LIMIT

AUTO = "auto"
CLIP_SCALE = 100.0
LEAST, MOST = 14.5, 105.0
"""the largest of a hundred times some cosines: they are rarely all below .145, and rounding takes them little past 1;
below that, a model may have begun with CLIP's first scale, 14.3, and kept it"""

APART = 10.0
"""times by which the largest scores of a bank and of the test set differ at the most, if they are of one scale"""


@dataclass(frozen=True)
class Scale:
    """What scores are divided by, whether they are cosines then, and a sentence if there is something to say."""

    divisor: float
    cosines: bool
    note: str | None = None


def scale_of(low: float, high: float, asked: str | float) -> Scale:
    """The scale of scores in this range: the one that is asked for, or what "auto" makes of them.

    >>> scale_of(-12.0, 41.0, "auto").divisor
    100.0
    """
    divisor = _automatic(low, high) if asked == AUTO else float(asked)
    largest = max(-low, high) / divisor
    cosines = largest <= COSINE_LIMIT
    note = None
    if divisor != 1:
        ground = "CLIP's scale" if asked == AUTO else "as asked"
        note = f"scores ran from {_range(low, high)} and were divided by {divisor:g} ({ground}): "
        note += f"they run from {_range(low / divisor, high / divisor)}"
    elif not cosines:
        note = f"scores run from {_range(low, high)} and are no cosines; they were left as they are"
    if not cosines:
        note = f'{note}, and tau = "auto" follows them'
    return Scale(divisor, cosines, note)


def other_scale(bank: str, largest: float, of_test: float) -> str | None:
    """A sentence if the scores of a bank are far larger or smaller than those of the test set."""
    if not of_test or not largest or 1 / APART < largest / of_test < APART:
        return None
    return (
        f"scores of the bank {bank} go up to {largest:.3g} and those of the test set to {of_test:.3g} in the files: "
        f"look whether they are of one scale"
    )


def _automatic(low: float, high: float) -> float:
    return CLIP_SCALE if high >= LEAST and max(-low, high) <= MOST else 1.0


def _range(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}"


BANK_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Dump:
    """Published files, by path; scores, or queries and targets, are the test set.

    scores: a matrix (query, target), or (target, its queries, target) padded with -inf; with ``transpose`` all matrices
    are the other way round. queries, targets: embeddings. banks: for each name its queries and perhaps targets, or one
    or three matrices, see ``bank_scores``. masks: 0 for a query that there is not. relevant: the target of each query,
    counted from ``first``, which is found out where it can be. captions: one for each query, or those of each target by
    its id in ``target_ids``. scale: what scores are divided by. trust: whether pickles are opened.
    """

    scores: str | None = None
    queries: str | None = None
    targets: str | None = None
    banks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    masks: str | None = None
    relevant: str | None = None
    first: int | None = None
    captions: str | None = None
    target_ids: str | None = None
    transpose: bool = False
    scale: str | float = AUTO
    trust: bool = False

    def __post_init__(self) -> None:
        if self.scores is None and (self.queries is None or self.targets is None):
            raise InputError(
                f"a test set is missing; give {argument('scores')}, a matrix, or {argument('queries')} and "
                f"{argument('targets')}, embeddings."
            )
        if self.scores is not None and (self.queries is not None or self.targets is not None):
            raise InputError("scores", f"and {argument('queries')} are two test sets", "give one of them")
        if self.scores is None and (self.transpose or self.scale != AUTO):
            name = "transpose" if self.transpose else "scale"
            raise InputError(name, "is for scores", "leave it out where there are embeddings")
        if self.first not in (None, 0, 1):
            raise InputError("first", f"is {self.first}", "targets are counted from 0 or from 1")
        if self.first is not None and self.relevant is None:
            raise InputError(
                "first", f"says where the numbers in {argument('relevant')} start", "give that file, or leave it out"
            )
        for name in self.banks:
            if not BANK_NAME.fullmatch(name):
                raise InputError(f"bank {name!r} is no name for a bank; use letters, digits, - and _.")
        if self.scale != AUTO:
            self._refuse_scale()

    def _refuse_scale(self) -> None:
        try:
            divisor = float(self.scale)
        except ValueError:
            divisor = math.nan
        if not (math.isfinite(divisor) and divisor > 0):
            advice = "give auto, or a positive number that scores are divided by, such as 100"
            raise InputError("scale", f"is {self.scale!r}", advice)
