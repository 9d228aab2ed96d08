"""Tests between the rows of a block: which rows a row beats beyond chance, and how it does against no correction.

Exact McNemar on R@1 between every two rows, adjusted after Holm over all pairs; wins, ties and losses against the
first row (no correction) by the rank of the best right target; the gain of R@1 over the first row, with a paired
bootstrap interval, clustered by target.
"""

from __future__ import annotations

import itertools
import string
from dataclasses import dataclass

import numpy as np

from unhub.api.evaluation import Evaluation
from unhub.metrics import Interval, holm, mcnemar

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
