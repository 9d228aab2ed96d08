"""What is taken of published files, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhub.experiments.importing.answers import Answers
from unhub.experiments.importing.matrices import Matrix
from unhub.experiments.importing.reading import Opener
from unhub.experiments.importing.targets import Targets
from unhub.foundation.types import BoolArray

Banks = Mapping[str, Sequence[str]]
"""the files of each bank, by its name"""


@dataclass(frozen=True, eq=False)
class Gathered:
    """The arrays of an experiment, by where its file names them, and what they tell about queries and targets."""

    parts: dict[str, Matrix]
    kept: BoolArray
    """(published query,): whether it is taken"""
    targets: Targets
    answers: Answers | None = None
    """for each published query, where the shape of an array tells"""
    settings: dict[str, Any] = field(default_factory=dict)
    divisor: float = 1.0
    said: tuple[str, ...] = ()


def unmasked(opener: Opener, masks: str | None, queries: int) -> BoolArray:
    """(query,): whether its mask, if there are any, is not 0."""
    if masks is None:
        return np.ones(queries, dtype=bool)
    found = opener.array(masks, "masks", dims=(1, 2), kinds="fiub")
    values = np.asarray(found.array)
    if values.size != queries:
        shape = " x ".join(f"{each:,}" for each in values.shape)
        raise found.problem(f"has {shape} masks but there are {queries:,} queries; give one for each.")
    if not np.isin(values, (0, 1)).all():
        raise found.problem("has other values than 0 (no such query) and 1; give masks.")
    kept: BoolArray = values.ravel() != 0
    if not kept.any():
        raise found.problem("masks every query; nothing is left.")
    return kept


def told(*sentences: str | None) -> tuple[str, ...]:
    """The sentences that there are."""
    return tuple(each for each in sentences if each is not None)
