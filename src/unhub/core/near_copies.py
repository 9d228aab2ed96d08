"""Which vectors are copies of others, also re-encoded, rounded to 16 or 8 bits, or moved a little.

Every row is projected on a few random directions. Copies fall into the same cells of most tables of such projections,
and lie side by side when a table is sorted; only neighbours are compared. O(n log n + n d), and no product of all rows
with all rows. Nothing is random from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unhub.core.fingerprint import row_digests
from unhub.foundation.types import BoolArray, IntArray, Sliceable

NEAR = 0.0142
"""distance of unit vectors with a cosine of .9999; different queries of 37 real sets are at least .018 apart"""
EIGHT_BITS = 127
"""steps from zero to the largest number of a vector that is kept in 8 bits"""
SLACK = 2.0
"""copies may lie so many times farther away than rounding to 8 bits moves a vector: one scale for all rounds coarser"""
OF_ANY = 0.2
"""copies lie at most at this share of the distance of two rows taken at random, of which nine tenths are nearer: where
one number is large in every row, rounding to 8 bits is coarse, but different rows are no copies"""
SUMMED = 2e-6
"""what sums of float32 in another order move a projection, as a share of its size: equal rows may differ by that"""
WIDE = 16
"""numbers in a vector from which NEAR holds; shorter ones come that close by chance, and only rounding is looked for"""
NARROW = 4
"""numbers in a vector below which even rounding proves nothing: only equal rows are copies"""
TABLES, DIRECTIONS = 8, 8
"""tables, and directions of each; all together give a distance within a tenth"""
SORTED_BY = 4
"""directions that a table is sorted by; a copy is near another in none of the tables once in 10,000"""
CELL = 6.0
"""width of a cell, in distances at which rows are still copies"""
WINDOW = 16
"""neighbours in a sorted table that are compared"""
FINE = 24
"""bits of a sorting key for the place within a cell; the others are its cell"""
READ = 1 << 18
"""values read at once"""
PAIRS = 1 << 12
"""pairs of rows compared at once"""
ROUNDS = 32
"""times that a crowd of copies is looked through; each leaves a small part of it"""


@dataclass(frozen=True)
class Sketches:
    """Rows as random projections (row, TABLES x DIRECTIONS), and how far from each its copies may lie (row,)."""

    values: NDArray[np.float32]
    reach: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.reach)

    def rows(self, which: IntArray) -> Sketches:
        """The sketches of some rows."""
        return Sketches(self.values[which], self.reach[which])


def sketches_of(rows: Sliceable, *, unit: bool) -> Sketches:
    """Random projections of the rows; unit: of their directions, whatever their lengths."""
    count, dim = rows.shape
    directions = np.random.default_rng(0).standard_normal((dim, TABLES * DIRECTIONS), dtype=np.float32)
    values = np.empty((count, TABLES * DIRECTIONS), dtype=np.float32)
    reach = np.empty(count, dtype=np.float32)
    height = max(1, READ // max(1, dim))
    for first in range(0, count, height):
        block = np.asarray(rows[first : first + height], dtype=np.float32)
        length = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
        scale = 1 / np.where(length > 0, length, 1) if unit else np.ones(len(block))
        part = slice(first, first + len(block))
        values[part] = (block @ directions) * scale[:, None]
        high, low = block.max(axis=1, initial=-np.inf), block.min(axis=1, initial=np.inf)
        largest = np.maximum(high, -low) if unit else (high - low) / 2  # a constant in all scores tells nothing
        reach[part] = SLACK * largest * scale * np.float32(np.sqrt(dim / 12) / EIGHT_BITS)
        if unit and dim >= WIDE:
            reach[part] = np.maximum(reach[part], np.float32(NEAR))
    rounding = SUMMED * float(np.sqrt(np.square(values, dtype=np.float64).mean())) if values.size else 0.0
    most = max(OF_ANY * _distance_of_any(values), NEAR if unit and dim >= WIDE else 0.0, rounding)
    return Sketches(values, np.minimum(reach, np.float32(most)) if dim >= NARROW else np.zeros_like(reach))


def _distance_of_any(values: NDArray[np.float32]) -> float:
    """The distance that nine tenths of the pairs of rows are within, from one random partner for some of the rows."""
    if len(values) < 2:
        return 0.0
    rng = np.random.default_rng(2)
    rows = rng.permutation(len(values))[: READ // values.shape[1]]
    apart = values[rows].astype(np.float64) - values[np.roll(rows, 1)]
    return float(np.quantile(np.sqrt(np.square(apart).mean(axis=1)), 0.9))


def first_copies(rows: Sliceable, *, unit: bool) -> IntArray:
    """(row,): the first row that each is a near copy of, or itself.

    unit: rows of another length in the same direction are copies too.

    >>> vectors = np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)
    >>> first_copies(np.concatenate((vectors, 2 * vectors[:2].astype(np.float16))), unit=True).tolist()
    [0, 1, 2, 0, 1]
    """
    sketches = sketches_of(rows, unit=unit)
    place = np.arange(len(sketches))
    left = place
    for _ in range(ROUNDS):
        early, late = _pairs(sketches if len(left) == len(sketches) else sketches.rows(left))
        if not early.size:
            break
        copies = np.zeros(len(left), dtype=bool)
        copies[late] = True
        of_first = ~copies[early]  # rows that are no copies themselves are those that stay
        order = np.argsort(early[of_first], kind="stable")[::-1]
        place[left[late[of_first][order]]] = left[early[of_first][order]]  # the earliest is written last
        linked = np.zeros(len(left), dtype=bool)
        linked[early] = linked[late] = True
        linked[late[of_first]] = False
        left = left[linked]
    while (place[place] != place).any():
        place = place[place]
    return place


def shared_rows(left: Sliceable, right: Sliceable, *, unit: bool = False) -> IntArray:
    """Rows of ``left`` that are also in ``right``, as near copies too; with ``unit``, whatever their length."""
    found = np.isin(row_digests(left, unit=unit), row_digests(right, unit=unit))
    if not found.all() and right.shape[0]:
        found |= _in_other(sketches_of(left, unit=unit), sketches_of(right, unit=unit))
    return np.flatnonzero(found)


def _pairs(own: Sketches) -> tuple[IntArray, IntArray]:
    """Earlier and later row of every pair of copies among the neighbours of each table."""
    found: list[tuple[IntArray, IntArray]] = [(np.zeros(0, dtype=np.int64),) * 2]
    for table, keys in _keys(own, own):
        order = np.argsort(keys[0], kind="stable")
        for step in range(1, min(WINDOW, len(order) - 1) + 1):
            a, b = order[:-step], order[step:]
            near = _near(own, own, a, b, table)
            found.append((np.minimum(a[near], b[near]), np.maximum(a[near], b[near])))
    early, late = (np.concatenate(side) for side in zip(*found, strict=True))
    return early, late


def _in_other(left: Sketches, right: Sketches) -> BoolArray:
    """(left,): whether a copy of each row is among its neighbours in a table of the others."""
    found = np.zeros(len(left), dtype=bool)
    for table, (own, other) in _keys(left, right):
        order = np.argsort(other, kind="stable")
        at = np.searchsorted(other[order], own)
        for step in range(-WINDOW // 2, WINDOW // 2):
            place = at + step
            rows = np.flatnonzero(~found & (place >= 0) & (place < len(order)))
            found[rows[_near(left, right, rows, order[place[rows]], table)]] = True
    return found


def _near(left: Sketches, right: Sketches, a: IntArray, b: IntArray, table: int) -> BoolArray:
    """(pair,): whether rows a and b are copies; the cheapest differences are looked at first."""
    column = table * DIRECTIONS
    reach = np.minimum(left.reach[a], right.reach[b])
    near: BoolArray = np.abs(left.values[a, column] - right.values[b, column]) <= 3 * reach
    likely = np.flatnonzero(near)
    for first in range(0, len(likely), PAIRS):
        rows = likely[first : first + PAIRS]
        apart = left.values[a[rows]].astype(np.float64) - right.values[b[rows]]
        square = np.einsum("ij,ij->i", apart, apart) / apart.shape[1]
        near[rows] = square <= np.square(reach[rows].astype(np.float64))
    return near


def _keys(left: Sketches, right: Sketches) -> Iterator[tuple[int, tuple[NDArray[np.uint64], NDArray[np.uint64]]]]:
    """The sorting keys of both sides by table: the cell, then the place along the table's first direction."""
    sides = left, right
    reach = np.concatenate((left.reach, right.reach))
    width = CELL * float(np.quantile(reach, 0.9) if reach.size else 0) or 1.0
    bits = (64 - FINE) // (SORTED_BY - 1)
    shifts = np.random.default_rng(1).random((TABLES, SORTED_BY), dtype=np.float32)
    for table in range(TABLES):
        columns = slice(table * DIRECTIONS, table * DIRECTIONS + SORTED_BY)
        parts = [side.values[:, columns] / np.float32(width) + shifts[table] for side in sides]
        lowest = min((float(part[:, 0].min()) for part in parts if len(part)), default=0.0)
        highest = max((float(part[:, 0].max()) for part in parts if len(part)), default=1.0)
        span = (highest - lowest) or 1.0
        keys = []
        for part in parts:
            key = ((part[:, 0] - lowest) / span * ((1 << FINE) - 1)).astype(np.uint64)
            cells = np.floor(part[:, 1:]).astype(np.int64).astype(np.uint64) & np.uint64((1 << bits) - 1)
            for each in range(SORTED_BY - 1):
                key |= cells[:, each] << np.uint64(FINE + bits * each)
            keys.append(key)
        yield table, (keys[0], keys[1])
