"""Checks of vectors, scores and weights; errors say what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray, Sliceable
from unhub.foundation.wording import argument, counted, setting

UNIT_TOLERANCE = 0.01
"""how far from one a length may be: rounded unit vectors are within it, logits are not"""

CHECK_VALUES = 1 << 18
"""values checked at once, few enough to stay in cache"""

SAFE = 1e-30
"""squared lengths above this, and below its reciprocal, are exact enough in float32"""

LENGTHEN = (
    f"pass {setting('normalize', True)} for cosine similarity, or {setting('metric', 'ip')} to use inner products as "
    f"they are"
)
"""advice for rows that are not of unit length, unless the caller has better"""


@dataclass(frozen=True)
class VectorSurvey:
    """What one pass over vectors shows: rows that are not finite, zero rows, and the lengths of the others."""

    not_finite: tuple[int, ...]
    zero: tuple[int, ...]
    shortest: float
    longest: float

    @property
    def lengths(self) -> tuple[float, float] | None:
        """of the shortest and the longest row; None where no row has a length"""
        return (self.shortest, self.longest) if self.shortest <= self.longest else None

    @property
    def unit(self) -> bool:
        """whether no row is noticeably longer or shorter than one"""
        return self.shortest >= 1 - UNIT_TOLERANCE and self.longest <= 1 + UNIT_TOLERANCE


def survey_vectors(rows: Sliceable) -> VectorSurvey:
    """One pass over the rows."""
    bad: list[int] = []
    zero: list[int] = []
    shortest, longest = np.inf, 0.0
    for start, stored in _slices(rows):
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            block = stored.astype(np.float32, copy=False)
            square = np.einsum("ij,ij->i", block, block)
            low, high = float(square.min()), float(square.max())
            if low > SAFE and high < 1 / SAFE:
                shortest, longest = min(shortest, low), max(longest, high)
                continue
            square = np.einsum("ij,ij->i", block, block, dtype=np.float64)
        finite = np.isfinite(block).all(axis=1)
        bad.extend((start + np.flatnonzero(~finite)).tolist())
        zero.extend((start + np.flatnonzero(square == 0)).tolist())
        square = square[finite & (square > 0)]
        if square.size:
            shortest, longest = min(shortest, float(square.min())), max(longest, float(square.max()))
    return VectorSurvey(tuple(bad), tuple(zero), float(np.sqrt(shortest)), float(np.sqrt(longest)))


def vector_problems(
    rows: Sliceable,
    name: str,
    survey: VectorSurvey,
    *,
    unit: bool = False,
    ids: Sequence[str] | None = None,
    otherwise: str = LENGTHEN,
) -> Iterator[InputError]:
    """What is wrong with vectors: NaN, infinities and zero vectors; with ``unit`` also rows not of length one."""
    if survey.not_finite:
        yield InputError(name, *_not_finite(rows, survey.not_finite, ids))
    if survey.zero:
        yield InputError(
            name,
            f"has {counted(len(survey.zero), 'zero vector')} ({_places(survey.zero, ids)})",
            f"a zero vector is similar to nothing: leave {'it' if len(survey.zero) == 1 else 'them'} out or embed "
            f"again",
        )
    if unit and not survey.unit and survey.lengths is not None:
        low, high = survey.lengths
        yield InputError(name, f"is not of unit length (row lengths run from {low:.4g} to {high:.4g})", otherwise)


def check_scores(scores: Sliceable, name: str) -> None:
    """Refuses a score matrix with NaN or infinities."""
    bad: list[int] = []
    for start, block in _slices(scores):
        bad.extend((start + np.flatnonzero(~np.isfinite(block).all(axis=1))).tolist())
    if bad:
        raise InputError(name, *_not_finite(scores, bad, None, "compute these scores again"))


def check_dimension(rows: Sliceable, name: str, other: Sliceable, other_name: str) -> None:
    """Refuses vectors of two different lengths."""
    if rows.shape[1] != other.shape[1]:
        raise InputError(
            name,
            f"has dimension {rows.shape[1]} but {argument(other_name)} has {other.shape[1]}",
            "embed both with the same model",
        )


def check_marginal(values: AnyArray, name: str, size: int, of: str) -> None:
    """Refuses weights that are not one positive number for each item."""
    if values.shape != (size,):
        raise InputError(name, f"has shape {values.shape} but there are {size:,} {of}", "give one number for each")
    if values.dtype.kind not in "fiu":
        raise InputError(name, f"holds {values.dtype} values, not numbers", "give one positive number for each")
    if not np.isfinite(values).all() or values.min() <= 0:
        where = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        raise InputError(name, "must be positive and finite", f"it is not at {_places(where.tolist(), None)}")


def _slices(rows: Sliceable) -> Iterator[tuple[int, AnyArray]]:
    height = max(1, CHECK_VALUES // max(1, rows.shape[1]))
    for start in range(0, rows.shape[0], height):
        yield start, np.asarray(rows[start : start + height])


def _not_finite(
    rows: Sliceable, bad: Sequence[int], ids: Sequence[str] | None, advice: str = "leave them out or embed them again"
) -> tuple[str, str]:
    """What came and what to do about it."""
    came = f"has NaN or infinite values in {counted(len(bad), 'row')} ({_places(bad, ids)})"
    first = np.asarray(rows[bad[0] : bad[0] + 1])
    if rows.dtype == np.float16 and np.isinf(first).any():
        return came, "float16 ends at 65504, so they overflowed when they were stored: store float32"
    return came, advice


def _places(rows: Sequence[int], ids: Sequence[str] | None, most: int = 5) -> str:
    shown = [repr(ids[row]) if ids is not None else str(row) for row in rows[:most]]
    kind = ("id" if ids is not None else "row") + ("s" if len(rows) > 1 else "")
    return f"{kind} {', '.join(shown)}{', …' if len(rows) > most else ''}"
