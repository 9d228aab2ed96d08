"""Tables of results: blocks of rows, one for each bank, with both directions, and tests between their rows.

Exact McNemar on R@1 between every two rows, adjusted after Holm over all pairs; wins, ties and losses against the
first row (no correction) by the rank of the best right target; the gain of R@1 over the first row, with a paired
bootstrap interval, clustered by target.
"""

from __future__ import annotations

import itertools
import math
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhub.api.evaluation import Evaluation
from unhub.methods import title_of
from unhub.metrics import Interval, holm, mcnemar, metric

QUERY_AWARE = "test & -"
"""the bank of a table whose banks are the test queries, in the paper's way of writing"""
SPARSITY = "sparsity"
TRANSDUCTIVE = "transductive"
SIGNIFICANCE = 0.05
RANKS = ("MnR", "MdR")


@dataclass(frozen=True)
class PairwiseTests:
    """A row's letter, the letters of the rows that it beats at R@1, and how it does against the first row."""

    letter: str
    beats: str
    wins: int
    ties: int
    losses: int
    gain: Interval | None = None
    """of R@1, in points; None for the first row, and where R@1 was not measured"""


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
    strengths: tuple[str, ...] = ()
    """at which strength the rows were served, and why, in a sentence or more"""
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
    return {None: 0, True: 1, False: -1}[metric(name).larger_is_better]


def block(bank: str, evaluations: Mapping[str, Evaluation]) -> Block:
    """A block from the evaluations of both directions."""
    first = next(iter(evaluations.values()))
    tests = {direction: pairwise_tests(each) for direction, each in evaluations.items()}
    rows = []
    for label, row in first.rows.items():
        results = {direction: each.rows[label] for direction, each in evaluations.items() if label in each.rows}
        parts = {
            part: {direction: dict(getattr(each, part)) for direction, each in results.items()}
            for part in ("values", "intervals", "settings")
        }
        own_tests = {direction: tests[direction][label] for direction in results}
        transductive = any(each.transductive for each in results.values())
        rows.append(Row(bank, label, row.method, tests=own_tests, transductive=transductive, **parts))
    return Block(bank, tuple(rows), dict(evaluations))


def pairwise_tests(evaluation: Evaluation) -> dict[str, PairwiseTests]:
    """The tests of every row, by its label."""
    labels = list(evaluation.rows)
    letters = dict(zip(labels, itertools.cycle(string.ascii_lowercase), strict=False))
    beaten = _beaten(evaluation, labels)
    gains: dict[str, Interval] = {}
    if "R@1" in evaluation[labels[0]].per_query and len(labels) > 1:
        gains = {each.method: each.interval for each in evaluation.compare(labels[0], on="R@1")}
    tests = {}
    for label in labels:
        beats = "".join(sorted(letters[each] for each in beaten[label]))
        counts = _against(evaluation, labels[0], label)
        tests[label] = PairwiseTests(letters[label], beats, *counts, gain=gains.get(label))
    return tests


def _beaten(evaluation: Evaluation, labels: list[str]) -> dict[str, list[str]]:
    """The rows that each row beats beyond chance."""
    beaten: dict[str, list[str]] = {label: [] for label in labels}
    if any("R@1" not in row.per_query for row in evaluation.rows.values()) or len(labels) < 2:
        return beaten
    pairs = list(itertools.combinations(labels, 2))
    hits = {label: evaluation[label].per_query["R@1"] for label in labels}
    tests = [mcnemar(hits[a], hits[b]) for a, b in pairs]
    for (a, b), test, p in zip(pairs, tests, holm([each.p_value for each in tests]), strict=True):
        if p < SIGNIFICANCE:
            ahead, behind = (a, b) if test.only_first > test.only_second else (b, a)
            beaten[ahead].append(behind)
    return beaten


def _against(evaluation: Evaluation, first: str, label: str) -> tuple[int, int, int]:
    """Queries that a row answers better than the first row, as well, and worse."""
    mine, other = evaluation[label].per_query, evaluation[first].per_query
    by_rank = next((name for name in RANKS if name in mine), None)
    if by_rank is not None:
        gain = np.sign(other[by_rank] - mine[by_rank])
    elif "R@1" in mine:
        gain = np.sign(mine["R@1"] - other["R@1"])
    else:
        return 0, 0, 0
    return int((gain > 0).sum()), int((gain == 0).sum()), int((gain < 0).sum())


def row_title(label: str) -> str:
    """The name of a row in a table, as the paper writes it.

    >>> row_title("sn"), row_title("none"), row_title("sparse_k(k=5)")
    ('+SN', 'no correction', '+M5N')
    """
    title = re.sub(r"^sparse_k\(k=(\d+)\)$", r"M\1N", title_of(label))
    return title if label == "none" else f"+{title}"


def series_name(label: str, *, transductive: bool = False) -> str:
    """The name of a row in a figure, with a badge where the test queries are in its bank.

    >>> series_name("sn"), series_name("sn", transductive=True)
    ('SN', 'SN (transductive)')
    """
    name = row_title(label).removeprefix("+")
    return f"{name} ({TRANSDUCTIVE})" if transductive else name


def metric_title(table: str, name: str) -> str:
    """The name of a metric in a table: where one class is right, R@k is the accuracy.

    >>> metric_title("classification", "R@5"), metric_title("query-aware", "R@5")
    ('acc@5', 'R@5')
    """
    return re.sub(r"^R@", "acc@", name) if table == "classification" else name
