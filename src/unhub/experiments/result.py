"""What a protocol gives back: blocks of rows, one for each bank, with both directions side by side."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unhub.api.evaluation import Evaluation
from unhub.experiments.pairwise_tests import PairwiseTests, pairwise_tests
from unhub.metrics import metric

QUERY_AWARE = "test & -"
"""the bank of a table whose banks are the test queries, in the paper's way of writing"""
SPARSITY = "sparsity"
TRANSDUCTIVE = "transductive"
ROW_NAMES = {
    "none": "no correction", "is": "+IS", "dis": "+DIS", "dualis": "+DualIS", "dualdis": "+DualDIS", "sn": "+SN",
    "dbsn": "+DBSN", "otn": "+OTN", "l2n": "+L2N", "hn": "+HN", "sparse_k(k=1)": "+M1N", "sparse_k(k=5)": "+M5N",
}  # fmt: skip
"""the paper's names of the rows"""


@dataclass(frozen=True)
class Row:
    """One method with one bank: its values and tests by direction."""

    bank: str
    label: str
    method: str
    values: Mapping[str, Mapping[str, float]]
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    tests: Mapping[str, PairwiseTests]
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
        values = {
            at: round(sign * row.values[direction][name], 6)
            for at, row in enumerate(self.rows)
            if name in row.values.get(direction, {}) and math.isfinite(row.values[direction][name])
        }
        return {at for at, value in values.items() if value == max(values.values())} if len(values) > 1 else set()


def better(name: str) -> int:
    """1 if more of a metric is better, -1 if less is, 0 if neither."""
    if name == SPARSITY:
        return 0
    larger = metric(name).larger_is_better
    return 0 if larger is None else 1 if larger else -1


def block(bank: str, evaluations: Mapping[str, Evaluation]) -> Block:
    """A block from the evaluations of both directions."""
    first = next(iter(evaluations.values()))
    tests = {direction: pairwise_tests(each) for direction, each in evaluations.items()}
    rows = []
    for label, row in first.rows.items():
        mine = {direction: each.rows[label] for direction, each in evaluations.items() if label in each.rows}
        rows.append(
            Row(
                bank=bank,
                label=label,
                method=row.method,
                values={direction: dict(each.values) for direction, each in mine.items()},
                intervals={direction: dict(each.intervals) for direction, each in mine.items()},
                tests={direction: tests[direction][label] for direction in mine},
                transductive=any(each.transductive for each in mine.values()),
                settings={direction: dict(each.settings) for direction, each in mine.items()},
            )
        )
    return Block(bank, tuple(rows), dict(evaluations))


def series_name(label: str, *, transductive: bool = False) -> str:
    """The name of a row in a figure, with a badge where the test queries are in its bank.

    >>> series_name("sn"), series_name("sn", transductive=True)
    ('SN', 'SN (transductive)')
    """
    name = ROW_NAMES.get(label, label).lstrip("+")
    return f"{name} ({TRANSDUCTIVE})" if transductive else name


def metric_title(table: str, name: str) -> str:
    """The name of a metric in a table: where one class is right, R@k is the accuracy.

    >>> metric_title("classification", "R@5"), metric_title("query-aware", "R@5")
    ('acc@5', 'R@5')
    """
    return re.sub(r"^R@", "acc@", name) if table == "classification" else name
