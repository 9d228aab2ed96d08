"""A number per vector that tells whether it is still the same vector."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from unhub.core.threads import share
from unhub.foundation.types import BoolArray, FloatArray, IntArray, Sliceable

READ = 1 << 20
"""values read at once"""

BLOCK = 1 << 15
"""values hashed at once, few enough for the nearest cache"""


def row_digests(rows: Sliceable, *, unit: bool = False, threads: int = 1) -> NDArray[np.uint64]:
    """One uint64 per row, from its float32 bits: equal rows agree, others practically never do.

    A multiply-and-add hash against mistakes, not against an adversary. ``unit`` compares directions: rows are scaled to
    unit length and rounded to thousandths first, so that copies of another length agree, except for rare ones at the
    edge of rounding. The caller's thread reads rows; ``threads`` of them hash.
    """
    count, dim = rows.shape
    multipliers = _splitmix(dim) | np.uint64(1)
    digests = np.empty(count, dtype=np.uint64)
    height, step = max(1, READ // max(1, dim)), max(1, BLOCK // max(1, dim))
    scratch = np.empty((threads, 2, step, dim), dtype=np.uint64)
    for first in range(0, count, height):
        read = np.ascontiguousarray(rows[first : first + height], dtype=np.float32)

        def hash_rows(part: int, start: int, stop: int, read: FloatArray = read, first: int = first) -> None:
            for low in range(start, stop, step):
                high = min(low + step, stop)
                block = read[low:high] + np.float32(0)
                x, y = scratch[part, :, : high - low]
                x[...] = (_directions(block) if unit else block).view(np.uint32)
                x ^= np.right_shift(x, np.uint64(13), out=y)
                x *= multipliers
                x ^= np.right_shift(x, np.uint64(29), out=y)
                x.sum(axis=1, out=digests[first + low : first + high])

        share(len(read), hash_rows, parts=threads, threads=threads, step=step)
    return digests


def _directions(block: FloatArray) -> FloatArray:
    """Rows of unit length, to thousandths."""
    length = np.linalg.norm(block.astype(np.float64), axis=1, keepdims=True)
    return np.round(block / np.where(length > 0, length, 1), 3).astype(np.float32) + np.float32(0)


def distinct_rows(digests: IntArray) -> tuple[IntArray, IntArray]:
    """The first row of each different digest, in order, and for every row which of these it equals.

    >>> rows, place = distinct_rows(np.array([7, 5, 7, 7, 9]))
    >>> rows.tolist(), place.tolist()
    ([0, 1, 4], [0, 1, 0, 0, 2])
    """
    _, first, inverse = np.unique(digests, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


SKETCHES = 4
"""sums over each vector, with different signs; a change of a thousandth escapes all four once in 10^8"""

NEAR = 1e-5
"""how far rounding may move a sum of a unit vector"""


def row_sketches(rows: Sliceable) -> FloatArray:
    """(row, SKETCHES) float32: sums of each vector's numbers with fixed signs, which rounding moves only a little.

    Some stores scale vectors to unit length again: their digests then differ, but their sketches hardly do.
    """
    count, dim = rows.shape
    bits = (_splitmix(dim)[:, None] >> np.arange(7, 7 + SKETCHES, dtype=np.uint64)) & np.uint64(1)
    signs = 1.0 - 2.0 * bits.astype(np.float64)
    sketches = np.empty((count, SKETCHES), dtype=np.float32)
    height = max(1, READ // max(1, dim))
    for first in range(0, count, height):
        block = np.asarray(rows[first : first + height], dtype=np.float64)
        sketches[first : first + len(block)] = block @ signs
    return sketches


def same_but_for_rounding(left: FloatArray, right: FloatArray) -> BoolArray:
    """(row,): whether two sets of sketches are of the same vectors, up to rounding."""
    scale = np.maximum(1.0, np.abs(left).max(axis=1, initial=0.0))
    near: BoolArray = np.abs(left.astype(np.float64) - right).max(axis=1, initial=0.0) <= NEAR * scale
    return near


def fingerprint(digests: IntArray) -> str:
    """A short name for a whole gallery, order included."""
    return hashlib.sha256(np.ascontiguousarray(digests, dtype="<u8").tobytes()).hexdigest()[:32]


def _splitmix(size: int) -> NDArray[np.uint64]:
    """The first numbers of splitmix64; saved corrections rely on them, so they must never change."""
    x = (np.arange(1, size + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
