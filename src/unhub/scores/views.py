"""Score sources that read another one: masked, cached, joined, a part of it, or with progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from unhub.core.arrays import concatenate, is_numpy, like, namespace
from unhub.foundation.types import FloatArray, IntArray, Progress
from unhub.scores.embedding import EmbeddingScores
from unhub.scores.source import Banks, ScoreSource


class DelegatingSource:
    """Base for score sources that delegate to another one and only read differently."""

    source: ScoreSource

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, gallery)"""
        return self.source.shape

    @property
    def block_rows(self) -> int:
        """how many rows to read at once"""
        return self.source.block_rows

    @property
    def tall_block_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""
        return self.source.tall_block_rows

    @property
    def array_like(self) -> Any:
        """an array of the library that the scores come in"""
        return self.source.array_like


@dataclass(frozen=True)
class ProgressSource(DelegatingSource):
    """Another source; after each read it calls ``advance`` with the number of rows, for progress bars."""

    source: ScoreSource
    advance: Callable[[float], None]

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The other source's scores."""
        block = self.source.read(start, stop, out)
        self.advance(stop - start)
        return block


def with_progress(banks: Banks, work: str, progress: Progress | None) -> Banks:
    """The banks; ``progress`` is called after each block of the query bank, for work that reads it once."""
    if progress is None:
        return banks
    total, done = banks.queries.shape[0], 0.0

    def advance(rows: float) -> None:
        nonlocal done
        done += rows
        progress(work, min(round(done), total), total)

    return replace(banks, queries=ProgressSource(banks.queries, advance))


@dataclass(frozen=True)
class MaskedScores(DelegatingSource):
    """Another source with its diagonal masked: minus infinity where row and column are the same item.

    first: the item of its first row, where it holds some of the rows. items: the item of each row, where they do not
    follow each other.
    """

    source: ScoreSource
    first: int = 0
    items: IntArray | None = None

    def items_of(self, rows: IntArray) -> IntArray:
        """Which items these rows are."""
        return rows + self.first if self.items is None else self.items[rows]

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The scores with their self-pairs masked, in ``out`` if they came there, else in a copy."""
        scores = self.source.read(start, stop, out)
        if self.items is None:
            return mask_self(scores, self.first + start, in_place=scores is out)
        masked: FloatArray = scores if scores is out else namespace(scores).asarray(scores, copy=True)
        masked[like(np.arange(stop - start), scores), like(self.items[start:stop], scores)] = -np.inf
        return masked


@dataclass(frozen=True)
class CappedScores(DelegatingSource):
    """Another source with the best score of each row lowered to the second best, so that no query has one best target.

    In a log of a gallery's own traffic the best target is often what the query was about; what a query also reaches
    shows a hub.
    """

    source: ScoreSource

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The scores, capped: in ``out`` if they came there, else in a copy."""
        scores = self.source.read(start, stop, out)
        if scores.shape[1] < 2:
            return scores
        if not is_numpy(scores):
            return cap(scores, scores.topk(2, dim=1).values[:, 1])  # type: ignore[attr-defined]
        capped = scores if scores is out else scores.copy()
        best = np.arange(len(capped)), capped.argmax(axis=1)  # no other score of a row is above the second best one
        capped[best] = -np.inf
        capped[best] = capped.max(axis=1)
        return capped


@dataclass(frozen=True)
class CappedAt(DelegatingSource):
    """Another source with the scores of each row lowered to the row's own cap."""

    source: ScoreSource
    caps: FloatArray

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The scores, capped."""
        scores = self.source.read(start, stop, out)
        return cap(scores, like(self.caps[start:stop], scores, scores.dtype), in_place=scores is out)


def cap(scores: FloatArray, caps: FloatArray, *, in_place: bool = False) -> FloatArray:
    """min(s_uj, cap_u): a copy unless the scores may be written to."""
    if is_numpy(scores):
        capped: FloatArray = np.minimum(scores, caps[:, None], out=scores if in_place else None)
        return capped
    lowered: FloatArray = namespace(scores).minimum(scores, caps[:, None])
    return lowered


def mask_self(scores: FloatArray, start: int, *, in_place: bool = False) -> FloatArray:
    """The rows start.. with minus infinity at (i, i), a copy unless they may be written to."""
    masked: FloatArray = scores if in_place else namespace(scores).asarray(scores, copy=True)
    rows = like(np.arange(min(masked.shape[0], max(0, masked.shape[1] - start))), scores)
    masked[rows, rows + start] = -np.inf
    return masked


@dataclass
class Budget:
    """Bytes that all caches of one problem may use."""

    left: int

    def take(self, size: int) -> bool:
        """Takes so many bytes, if they are left; whether they were."""
        if size > self.left:
            return False
        self.left -= size
        return True


@dataclass
class CachedScores(DelegatingSource):
    """Another source that keeps its first rows, as long as they are read in order and the budget lasts."""

    source: ScoreSource
    budget: Budget
    _filled: int = 0
    _lock: Any = field(default_factory=Lock, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedScores, (self.source, self.budget)

    @property
    def in_memory(self) -> FloatArray | None:
        """All scores, where they were read and could be kept."""
        return self._cache if self._filled == self.shape[0] else None

    @cached_property
    def _cache(self) -> FloatArray:
        """Memory for as many rows as the budget holds at the first read."""
        rows, columns = self.shape
        height = min(rows, self.budget.left // max(1, 4 * columns))
        self.budget.take(4 * columns * height)
        return np.empty((height, columns), dtype=np.float32)

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The scores of the rows start..stop, from memory where they are."""
        if stop <= self._filled:
            return self._cache[start:stop]
        with self._lock:
            if start <= self._filled < stop <= len(self._cache):
                place = self._cache[self._filled : stop]
                block = self.source.read(self._filled, stop, place)
                if block is not place:
                    place[...] = block
                self._filled = stop
        return self._cache[start:stop] if stop <= self._filled else self.source.read(start, stop, out)


@dataclass(frozen=True)
class JoinedScores:
    """Two sources with the same rows side by side, such as gallery and target bank: (bank, columns of both)."""

    left: ScoreSource
    right: ScoreSource

    @property
    def shape(self) -> tuple[int, int]:
        """(bank, columns of both)"""
        return self.left.shape[0], self.left.shape[1] + self.right.shape[1]

    @property
    def block_rows(self) -> int:
        """how many rows to read at once"""
        return min(self.left.block_rows, self.right.block_rows)

    @property
    def tall_block_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""
        return min(self.left.tall_block_rows, self.right.tall_block_rows)

    @property
    def array_like(self) -> Any:
        """an array of the library that the scores come in"""
        return self.left.array_like

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """Both blocks in one array."""
        near = is_numpy(self.array_like)
        if out is None or not near or not is_numpy(self.right.array_like):
            both = [like(source.read(start, stop), self.array_like) for source in (self.left, self.right)]
            joined: FloatArray = concatenate(both, axis=1)
            return joined
        width = self.left.shape[1]
        for source, place in ((self.left, out[:, :width]), (self.right, out[:, width:])):
            block = source.read(start, stop, place)
            if block is not place:
                if not np.can_cast(block.dtype, out.dtype):
                    return self.read(start, stop)
                place[...] = block
        return out


def rows(source: ScoreSource, start: int, stop: int) -> ScoreSource:
    """The bank rows start..stop of a source; of an array of embeddings no others travel to another process."""
    if (start, stop) == (0, source.shape[0]):
        return source
    if isinstance(source, EmbeddingScores) and isinstance(source.queries, np.ndarray):
        return replace(source, queries=source.queries[start:stop])
    return ScoreSlice(source, (start, stop), (0, source.shape[1]))


def columns(source: ScoreSource, left: int, right: int) -> ScoreSource:
    """The targets left..right of a source; of embeddings no other score is computed."""
    if (left, right) == (0, source.shape[1]):
        return source
    source = getattr(source, "unparted", source)
    if isinstance(source, ProgressSource):
        part = (right - left) / source.shape[1]
        return ProgressSource(columns(source.source, left, right), lambda rows: source.advance(rows * part))
    if isinstance(source, EmbeddingScores):
        taller = source.tall_block_rows * source.shape[1] // (right - left)
        return replace(source, targets=source.targets[left:right], tall_rows=taller)
    return ScoreSlice(source, (0, source.shape[0]), (left, right))


@dataclass(frozen=True)
class ScoreSlice(DelegatingSource):
    """Some rows and some columns of another source; its rows are read whole."""

    source: ScoreSource
    rows: tuple[int, int]
    columns: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)"""
        return self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]

    @property
    def tall_block_rows(self) -> int:
        """how many rows a kernel without temporaries may read at once"""
        return self.source.tall_block_rows if self._whole_rows else self.source.block_rows

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The part of the rows start..stop, contiguous."""
        ends = self.rows[0] + start, self.rows[0] + stop
        if self._whole_rows:
            return self.source.read(*ends, out)
        part = self.source.read(*ends)[:, slice(*self.columns)]
        return np.ascontiguousarray(part) if isinstance(part, np.ndarray) else part

    @property
    def _whole_rows(self) -> bool:
        return self.columns == (0, self.source.shape[1])
