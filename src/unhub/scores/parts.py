"""A source in parts, so that folds without one of them read nothing again: what the other parts gave is merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from unhub.foundation.types import FloatArray, IntArray
from unhub.scores.selection import select
from unhub.scores.source import Banks, ScoreSource
from unhub.scores.views import DelegatingSource, ProgressSource


@dataclass(frozen=True, eq=False)
class PartedScores(DelegatingSource):
    """Another source, of which every fold keeps its state after each part.

    parts: row numbers, every row in one of them. without: the part that is left out, if any.
    """

    source: ScoreSource
    parts: tuple[IntArray, ...]
    without: int | None = None
    known: dict[Any, list[Any]] = field(default_factory=dict, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows that are there, gallery)"""
        rows, columns = self.source.shape
        return rows - (0 if self.without is None else len(self.parts[self.without])), columns

    def read(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """The scores of the rows that are there, in their order."""
        return self.unparted.read(start, stop, out)

    @cached_property
    def unparted(self) -> ScoreSource:
        """The rows that are there as one source; folds over some of its columns keep no states, which would be many."""
        if self.without is None:
            return self.source
        others = [rows for part, rows in enumerate(self.parts) if part != self.without]
        return select(self.source, np.sort(np.concatenate(others)))

    def state(self, by: Any, of_part: Callable[[ScoreSource], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """The state of a fold over the parts that are there; a part is read for the first such fold only."""
        if by not in self.known:
            self.known[by] = [of_part(self._part(rows)) for rows in self.parts]
        states = [state for part, state in enumerate(self.known[by]) if part != self.without]
        merged = deepcopy(states[0])
        for state in states[1:]:
            merged = merge(merged, deepcopy(state))
        return merged

    def _part(self, rows: IntArray) -> ScoreSource:
        part = select(self.source, rows)
        return ProgressSource(part, self.source.advance) if isinstance(self.source, ProgressSource) else part


def in_parts(banks: Banks) -> tuple[Banks, list[Banks]]:
    """The banks, and the banks without each part that is held out; folds over all of them read each score once.

    A target bank is one part. Query weights are not known part by part: with them, every fold reads the bank anew.
    """
    rows = banks.queries.shape[0]
    rest = np.setdiff1d(np.arange(rows), np.concatenate(banks.held_out))
    parts: Sequence[IntArray] = [*banks.held_out, rest] if len(rest) else banks.held_out
    queries = PartedScores(banks.queries, tuple(parts))
    second = banks.targets
    if second is not None:
        second = PartedScores(second, (np.arange(second.shape[0]),))
    whole = replace(banks, queries=queries, targets=second)
    others = [replace(whole, queries=replace(queries, without=part)) for part in range(len(banks.held_out))]
    return whole, others
