"""The lengths of vectors, and everything that is wrong with them: infinite, zero and not of unit length alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.core.checks import check_vectors
from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray, BoolArray
from unhub.io import Rows

BLOCK_VALUES = 1 << 22
"""values looked at in one go"""


def vector_problems(rows: Rows, name: str, *, unit: bool) -> list[str]:
    """Every sentence that the check of vectors has: what it refused is covered up, and it is asked again."""
    said: list[str] = []
    for hidden in (_nothing, _infinite, _infinite_or_zero):
        try:
            check_vectors(_Covered(rows, hidden), name, unit=unit, ids=rows.ids)
        except InputError as error:
            said += [str(error)] if str(error) not in said else []
    return said


def row_lengths(rows: Rows) -> tuple[float, float]:
    """The shortest and the longest vector, those with NaN left out."""
    shortest, longest = np.inf, 0.0
    height = max(1, BLOCK_VALUES // rows.shape[1])
    for start in range(0, len(rows), height):
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(rows[start : start + height].astype(np.float64), axis=1)
        finite = lengths[np.isfinite(lengths)]
        if finite.size:
            shortest, longest = min(shortest, float(finite.min())), max(longest, float(finite.max()))
    return shortest, longest


@dataclass(frozen=True)
class _Covered:
    """Rows in which those of a kind are replaced by a vector that nobody can object to."""

    rows: Rows
    hidden: Callable[[AnyArray], BoolArray]

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.rows.dtype

    def __getitem__(self, wanted: slice) -> AnyArray:
        block = self.rows[wanted]
        where = self.hidden(block)
        if where.any():
            block = block.copy()
            block[where] = np.eye(1, block.shape[1], dtype=block.dtype)
        return block


def _nothing(block: AnyArray) -> BoolArray:
    return np.zeros(len(block), dtype=bool)


def _infinite(block: AnyArray) -> BoolArray:
    return np.logical_not(np.isfinite(block).all(axis=1))


def _infinite_or_zero(block: AnyArray) -> BoolArray:
    return _infinite(block) | ~block.any(axis=1)
