"""Published files, by path, and what they cannot say themselves."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unhub.foundation.errors import InputError
from unhub.foundation.wording import argument

AUTO = "auto"
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
