"""What a protocol gives back: blocks of rows, one for each bank, with both directions side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unhub.api.evaluation import Evaluation
from unhub.experiments.standing import Standing, standings
from unhub.metrics import metric

QUERY_AWARE = "test & -"
"""the bank of a table whose banks are the test queries, in the paper's way of writing"""
SPARSITY = "sparsity"


@dataclass(frozen=True)
class Row:
    """One method with one bank: its values by direction and metric, and how it stands among its block."""

    bank: str
    label: str
    method: str
    values: Mapping[str, Mapping[str, float]]
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    standing: Mapping[str, Standing]
    transductive: bool
    settings: Mapping[str, Mapping[str, Any]]
    """hyper-parameters, by direction"""


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of one bank, and the evaluations, by direction, that they come from."""

    bank: str
    rows: tuple[Row, ...]
    evaluations: Mapping[str, Evaluation]


@dataclass(frozen=True, eq=False)
class ResultTable:
    """One table: what was run, on what, and how it came out."""

    name: str
    title: str
    dataset: str
    model: str
    protocol: str
    metrics: tuple[str, ...]
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """hashes of the files, seeds, versions"""

    @property
    def directions(self) -> tuple[str, ...]:
        """Those of any block, from queries to targets first; a block may have fewer."""
        every = sorted(self.blocks, key=lambda block: -len(block.evaluations))
        return tuple(every[0].evaluations) if every else ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all blocks."""
        return tuple(row for block in self.blocks for row in block.rows)

    def best(self, direction: str, name: str) -> set[int]:
        """Which rows have the best value of a column, by their place in ``rows``; none where there is no better."""
        sign = better(name)
        if not sign:
            return set()
        told = {
            at: round(sign * row.values[direction][name], 6)
            for at, row in enumerate(self.rows)
            if name in row.values.get(direction, {}) and math.isfinite(row.values[direction][name])
        }
        return {at for at, value in told.items() if value == max(told.values())} if len(told) > 1 else set()


def better(name: str) -> int:
    """1 if more of a metric is better, -1 if less is, 0 if neither."""
    if name == SPARSITY:
        return 0
    wanted = metric(name).larger_is_better
    return 0 if wanted is None else 1 if wanted else -1


def block(bank: str, evaluations: Mapping[str, Evaluation], *, names: Mapping[str, str] | None = None) -> Block:
    """A block from the evaluations of both directions; ``names`` are labels that are to stand for others."""
    first = next(iter(evaluations.values()))
    shown = names or {}
    standing = {direction: standings(each) for direction, each in evaluations.items()}
    rows = []
    for label, row in first.rows.items():
        mine = {direction: each.rows[label] for direction, each in evaluations.items() if label in each.rows}
        rows.append(
            Row(
                bank=bank,
                label=shown.get(label, label),
                method=row.method,
                values={direction: dict(each.values) for direction, each in mine.items()},
                intervals={direction: dict(each.intervals) for direction, each in mine.items()},
                standing={direction: standing[direction][label] for direction in mine},
                transductive=any(each.transductive for each in mine.values()),
                settings={direction: dict(each.settings) for direction, each in mine.items()},
            )
        )
    return Block(bank, tuple(rows), dict(evaluations))
