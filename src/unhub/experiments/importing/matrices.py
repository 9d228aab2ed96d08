"""Numbers in our order, rows being queries or bank items, some of them left out; read in blocks, never copied whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from unhub.experiments.importing.reading import SourceArray
from unhub.foundation.types import AnyArray, BoolArray, FloatArray, IntArray
from unhub.io import FileArray

BLOCK = 1 << 20
"""numbers of a block: 4 MB of float32"""

SHOWN = 5


@dataclass(frozen=True, eq=False)
class Matrix:
    """A view of a published array, with the rows and columns that are taken of it and what they are divided by."""

    file: SourceArray
    array: AnyArray | FileArray
    rows: IntArray | None = None
    columns: IntArray | None = None
    divisor: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of what is taken."""
        rows, columns = self.array.shape
        return rows if self.rows is None else len(self.rows), columns if self.columns is None else len(self.columns)

    def blocks(self) -> Iterator[tuple[int, FloatArray]]:
        """float32 blocks, each with its first row."""
        rows, columns = self.shape
        height = max(1, BLOCK // columns)
        for start in range(0, rows, height):
            taken = slice(start, start + height) if self.rows is None else self.rows[start : start + height]
            block = self.array[taken]
            if self.columns is not None:
                block = block[:, self.columns]
            with np.errstate(over="ignore"):
                if self.divisor != 1:  # in the precision that there is, before it becomes float32
                    block = block.astype(np.promote_types(block.dtype, np.float32), copy=False) / self.divisor
                yield start, np.asarray(block, dtype=np.float32)

    def only(self, rows: BoolArray) -> Matrix:
        """Some of the rows that are taken now."""
        if rows.all():
            return self
        before = np.arange(len(rows)) if self.rows is None else self.rows
        return replace(self, rows=before[rows])


def oriented(file: SourceArray, *, transpose: bool) -> Matrix:
    """The whole array with a row for each query or bank item; of three dimensions, the first two are their rows."""
    array = file.array
    if array.ndim == 2:
        return Matrix(file, array.T if transpose else array)
    if transpose:
        raise file.problem(f"has shape {array.shape}; an array of three dimensions is not transposed.")
    if isinstance(array, FileArray) and not array.fortran:
        return Matrix(file, array.flattened())
    return Matrix(file, np.asarray(array).reshape(-1, array.shape[2]))


@dataclass(frozen=True, eq=False)
class ScoreStats:
    """What a matrix of scores holds."""

    low: float
    high: float
    padding: BoolArray
    """(row,): where there is no query, only -inf"""
    repeats: BoolArray
    """(column,): the same as the column before"""

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return max(-self.low, self.high)


def measure_scores(matrix: Matrix, *, padded: bool = False) -> ScoreStats:
    """The range of the scores, and columns that repeat; NaN and infinities are refused.

    padded: whether rows of nothing but -inf are padding, which is reported and not refused.
    """
    rows, columns = matrix.shape
    low, high = np.inf, -np.inf
    padding, bad = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool)
    repeats = np.arange(columns) > 0
    for start, block in matrix.blocks():
        whole = np.isfinite(block).all(axis=1)
        if not whole.all():
            empty = np.isneginf(block).all(axis=1) & padded
            padding[start : start + len(block)] = empty
            bad[start : start + len(block)] = ~whole & ~empty
            block = block[whole]
        if len(block):
            low, high = min(low, float(block.min())), max(high, float(block.max()))
            (still,) = np.nonzero(repeats)
            repeats[still] = (block[:, still] == block[:, still - 1]).all(axis=0)
    refuse_rows(matrix, bad, "NaN or infinite values", "leave these rows out, or write them again")
    if padding.all():
        raise matrix.file.problem("holds no scores: every row is -inf.")
    return ScoreStats(low, high, padding, repeats)


def lengths(matrix: Matrix) -> tuple[float, float]:
    """The shortest and the longest row of embeddings; NaN, infinities and zero vectors are refused."""
    squares = np.concatenate([np.einsum("ij,ij->i", block, block, dtype=np.float64) for _, block in matrix.blocks()])
    refuse_rows(matrix, ~np.isfinite(squares), "NaN or infinite values", "leave these rows out, or embed them again")
    refuse_rows(matrix, squares == 0, "nothing but zeros", "leave these rows out, or embed them again")
    return float(np.sqrt(squares.min())), float(np.sqrt(squares.max()))


def repeated_rows(matrix: Matrix) -> BoolArray:
    """(row,): whether an embedding is the same as the one before."""
    repeats = np.zeros(matrix.shape[0], dtype=bool)
    last: FloatArray | None = None
    for start, block in matrix.blocks():
        repeats[start + 1 : start + len(block)] = (block[1:] == block[:-1]).all(axis=1)
        repeats[start] = last is not None and bool((block[0] == last).all())
        last = block[-1].copy()
    return repeats


def refuse_rows(matrix: Matrix, bad: BoolArray, what: str, advice: str) -> None:
    """An error that names the first of the bad rows, as the file counts them."""
    if not bad.any():
        return
    places: IntArray = np.flatnonzero(bad)
    if matrix.rows is not None:
        places = matrix.rows[places]
    shown = ", ".join(map(str, places[:SHOWN])) + (", …" if len(places) > SHOWN else "")
    count = f"{len(places):,} row{'s' if len(places) > 1 else ''}"
    raise matrix.file.problem(f"has {what} in {count} ({shown}; rows count from 0); {advice}.")
