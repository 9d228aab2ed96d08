"""Stored vectors: how far scores are off when an index keeps its vectors, and their bias, in fewer bits.

With t' what the index keeps of a target t, and u = 2^-24 the rounding of float32, a corrected score of query q is off
by at most

    max_j |q . (t_j - t'_j)|  +  max_j |bias_j - bias'_j|  +  the rounding of float32 sums.

The first two are computed from the residuals themselves, block by block. |q| max_j |t_j - t'_j| would be cheaper, but
was four to six times as wide on CLIP vectors of 512 dimensions. The last one is n u |q| |t|, which bounds a sum of n
products in any order, and n times the smallest normal number, which bounds what products lose that are smaller still:
once for the index, once for the scores computed here and once for the products with residuals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import BoolArray, FloatArray, Progress, Sliceable
from unhub.scores.embedding import TILE_VALUES, EmbeddingScores, lengths, vectors
from unhub.scores.source import Banks, blocks
from unhub.scores.views import with_progress

UNIT_ROUNDOFF = 2.0**-24
"""the relative rounding error of float32"""

SMALLEST = 2.0**-126
"""the smallest normal number of float32; products below it lose digits, or all of them where they count as zero"""

MIDDLE = 127 * 8 * UNIT_ROUNDOFF
"""how close, in steps, a number is to the middle of two codes if the rounding of float32 decides which it gets"""

OTHER_ROUNDINGS = 8
"""roundings of a score beside its products: the bias that is added, decoded vectors, the scale of codes"""


@dataclass(frozen=True)
class Storage:
    """A way to keep numbers in fewer bits.

    name: what it is called.
    step: the largest absolute value -> the step of codes, or 0 for floats.
    rounded: (values, step) -> the values as they are kept, float32.
    coarsest: the largest absolute value -> the largest residual of one number.
    """

    name: str
    step: Callable[[float], float]
    rounded: Callable[[FloatArray, float], FloatArray]
    coarsest: Callable[[float], float]


def _float16(values: FloatArray, step: float) -> FloatArray:
    return values.astype(np.float16).astype(np.float32)


def _int8(values: FloatArray, step: float) -> FloatArray:
    decoded: FloatArray = np.rint(values / np.float32(step)) * np.float32(step)
    return decoded


STORAGES = {
    "float32": Storage("float32", lambda largest: 0.0, lambda values, step: values, lambda largest: 0.0),
    "float16": Storage("float16", lambda largest: 0.0, _float16, lambda largest: max(largest * 2.0**-11, 2.0**-25)),
    "int8": Storage(
        "int8", lambda largest: float(np.float32(largest / 127)) or 1.0, _int8, lambda largest: largest / 254
    ),
}
"""ways to keep vectors by name; int8 has one symmetric step for the whole gallery, its largest absolute value / 127"""


@dataclass(frozen=True)
class Residuals:
    """t - t' of every target: (gallery, dim), computed when it is read.

    A number in the middle of two codes may get either, by how an index divides and rounds; ``middles`` has those.

    targets: (gallery, dim) vectors. bias: (gallery,) kept in the same way.
    storage: how an index keeps them. normalize: divide every vector by its length first.
    """

    targets: Sliceable
    bias: FloatArray
    storage: Storage
    normalize: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32"""
        return np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, ...]:
        """(gallery, dim)"""
        return self.targets.shape

    def __getitem__(self, rows: slice) -> FloatArray:
        block = self._block(rows)
        residual: FloatArray = block - self.storage.rounded(block, self.step)
        if self.step:
            residual[self._in_the_middle(block)] = 0
        return residual

    def middles(self, rows: slice) -> FloatArray:
        """Half a step where either of two codes may be kept, which counts as 0 above; 0 elsewhere: (rows, dim)."""
        return self._in_the_middle(self._block(rows)) * np.float32(self.step * (0.5 + MIDDLE))

    def _block(self, rows: slice) -> FloatArray:
        start, stop, _ = rows.indices(self.shape[0])
        block: FloatArray = vectors(self.targets, start, stop, normalize=self.normalize)
        return block

    def _in_the_middle(self, block: FloatArray) -> BoolArray:
        steps = block / np.float32(self.step)
        close: BoolArray = np.abs(steps - np.floor(steps) - np.float32(0.5)) <= MIDDLE
        return close

    @cached_property
    def extent(self) -> tuple[float, float]:
        """The largest absolute value and the largest length of a vector, from one read."""
        largest = longest = 0.0
        for start, stop in _tiles(*self.shape):
            block = vectors(self.targets, start, stop, normalize=self.normalize)
            largest = max(largest, float(np.abs(block).max(initial=0.0)))
            longest = max(longest, float(lengths(block).max(initial=0.0)))
        return largest, longest

    @property
    def largest(self) -> float:
        """The largest absolute value of the vectors and the bias."""
        return max(self.extent[0], float(np.abs(self.bias).max(initial=0.0)))

    @cached_property
    def step(self) -> float:
        """The step of codes."""
        return self.storage.step(self.largest)

    @property
    def of_bias(self) -> float:
        """The largest residual of a bias."""
        bias = self.bias.astype(np.float32)
        return float(np.abs(bias - self.storage.rounded(bias, self.step)).max(initial=0.0))


def score_errors(
    queries: Sliceable, residuals: Residuals, block_rows: int, progress: Progress | None = None
) -> FloatArray:
    """How far a corrected score of each query may be off: (query,) float64.

    queries: (query, dim) vectors.
    residuals: what an index loses of the targets.
    block_rows: how many targets meet all queries at once.
    progress: called with the name of the work, targets read and targets in all.
    """
    if residuals.storage is STORAGES["float16"] and residuals.largest > float(np.finfo(np.float16).max):
        raise InputError("error", f"is 'float16', but a value of {residuals.largest:.3g} does not fit into it",
                         "scale the vectors down")  # fmt: skip
    products = EmbeddingScores(residuals, queries, block_rows)
    worst = np.zeros(queries.shape[0])
    for first, block in blocks(with_progress(Banks(products), "stored vectors", progress).queries):
        off = np.abs(block)
        if residuals.step:
            _add_middles(off, first, queries, residuals)
        np.maximum(worst, off.max(axis=0), out=worst)
    length = _query_lengths(queries)
    scale = length if residuals.normalize else np.ones_like(length)
    products_underflow = residuals.shape[1] * SMALLEST / scale
    return worst / scale + residuals.of_bias + _summing(residuals, length / scale) + products_underflow


def _add_middles(off: FloatArray, first: int, queries: Sliceable, residuals: Residuals) -> None:
    """Adds what scores may be off by because of the numbers in the middle of two codes.

    off: (targets, queries) how far scores may be off; first: the first of these targets.
    """
    for start, stop in _tiles(off.shape[0], residuals.shape[1]):
        middles = residuals.middles(slice(first + start, first + stop))
        rows = np.flatnonzero(middles.any(axis=1))
        for left, right in _tiles(off.shape[1], residuals.shape[1]) if rows.size else ():
            off[start + rows, left:right] += middles[rows] @ np.abs(vectors(queries, left, right)).T


def _tiles(rows: int, dim: int) -> list[tuple[int, int]]:
    height = max(1, TILE_VALUES // max(1, dim))
    return [(start, min(start + height, rows)) for start in range(0, rows, height)]


def _query_lengths(queries: Sliceable) -> FloatArray:
    parts = [lengths(vectors(queries, start, stop)) for start, stop in _tiles(*queries.shape)]
    return np.concatenate(parts).astype(np.float64)


def _summing(residuals: Residuals, lengths: FloatArray) -> FloatArray:
    """What float32 sums may lose: here, in the index, and by rounding in the products with residuals; (query,).

    Vectors that are scaled have sums of squares in them too.
    """
    dim = residuals.shape[1]
    roundings = (2 if residuals.normalize else 1) * dim + OTHER_ROUNDINGS
    lost = roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF)
    longest = residuals.extent[1]
    residual = math.sqrt(dim) * residuals.storage.coarsest(residuals.largest)
    bias = float(np.abs(residuals.bias).max(initial=0.0))
    return lost * (2 * lengths * (longest + residual) + 2 * bias) + 2 * roundings * SMALLEST
