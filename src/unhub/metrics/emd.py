"""How far apart two sets of points are: the earth mover's distance (EMD) with cost 1 - cosine.

It tells whether a target bank can be expected to help. Proposition 2 says that adding a target bank B_t to the targets
T brings them closer to the query bank B_q. Its proof needs EMD(B_q, B_t) < EMD(B_q, T); then, with
w = |B_t| / (|T| + |B_t|),

    EMD(B_q, [T; B_t]) <= (1 - w) EMD(B_q, T) + w EMD(B_q, B_t) < EMD(B_q, T).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray, IntArray
from unhub.foundation.wording import argument
from unhub.metrics.row_numbers import name_rows
from unhub.metrics.significance import LEVEL

PIVOTS = 100_000_000  # the solver ends by itself long before; POT's own limit is too low for 2,000 points

Costs = Callable[[IntArray, IntArray], FloatArray]


@dataclass(frozen=True)
class EMD:
    """A distance between two uniform point sets, and how it was found.

    ``exact``: all points were used, and low = value = high. Otherwise ``value`` is the mean over ``rounds`` draws of at
    most ``sample`` points from each set, and low .. high is its 95% confidence interval (Student's t). Samples are
    farther apart than the whole sets, so a sampled distance is too large on average, and less so the larger the sample:
    compare distances with the same ``sample``.
    """

    value: float
    low: float
    high: float
    exact: bool
    sample: int
    rounds: int
    seed: int


def emd(x: FloatArray, y: FloatArray, *, sample: int = 1000, rounds: int = 5, seed: int = 0) -> EMD:
    """The least mean of 1 - cosine over all ways to move the uniform set x onto the uniform set y.

    min over plans P with uniform marginals of  sum_ij P_ij (1 - cos(x_i, y_j))

    x: (n, dim), y: (m, dim), of any length. Exact where neither set has more than ``sample`` points.

    >>> emd(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 2.0], [3.0, 0.0]])).value
    0.0
    """
    x, y = np.asarray(x), np.asarray(y)
    lengths_x, lengths_y = _lengths(x, "x"), _lengths(y, "y")
    if x.shape[1] != y.shape[1]:
        raise InputError("x", f"has dimension {x.shape[1]} but y has {y.shape[1]}", "embed both with the same model")

    def costs(i: IntArray, j: IntArray) -> FloatArray:
        cosines = (x[i] / lengths_x[i, None]) @ (y[j] / lengths_y[j, None]).T
        return np.maximum(1.0 - cosines, 0.0)

    return _distance(costs, len(x), len(y), sample, rounds, seed)


def emd_from_scores(scores: FloatArray, *, sample: int = 1000, rounds: int = 5, seed: int = 0) -> EMD:
    """The same distance between the rows and the columns of a score matrix, with cost 1 - score: (n, m)."""
    if scores.ndim != 2 or not scores.size:
        raise InputError("scores", f"has shape {scores.shape}", "expected a matrix with rows and columns")

    def costs(i: IntArray, j: IntArray) -> FloatArray:
        part = scores[np.ix_(i, j)].astype(np.float64)
        if not np.isfinite(part).all():
            wrong = np.zeros(len(scores), dtype=bool)
            wrong[i] = ~np.isfinite(part).all(axis=1)
            raise InputError("scores", f"must be finite for a distance, but are not in {name_rows(wrong, 'row')}")
        cost: FloatArray = 1.0 - part
        return cost

    return _distance(costs, scores.shape[0], scores.shape[1], sample, rounds, seed)


@dataclass(frozen=True)
class BankPrecondition:
    """The three distances from the query bank, and the verdict.

    ``holds``: the target bank is closer to the query bank than the targets are. ``certain``: the distances are exact,
    or their intervals do not overlap.
    """

    to_target_bank: EMD
    to_targets: EMD
    to_both: EMD
    holds: bool
    certain: bool


def bank_precondition(
    query_bank: FloatArray,
    target_bank: FloatArray,
    targets: FloatArray,
    *,
    sample: int = 1000,
    rounds: int = 5,
    seed: int = 0,
) -> BankPrecondition:
    """EMD(B_q, B_t), EMD(B_q, T) and EMD(B_q, [T; B_t]) and whether the first is less than the second."""
    if target_bank.ndim != 2 or targets.ndim != 2 or target_bank.shape[1] != targets.shape[1]:
        raise InputError(
            "target_bank",
            f"has shape {target_bank.shape} and {argument('targets')} {targets.shape}",
            "give rows of one dimension, embedded with the same model",
        )
    how: Any = {"sample": sample, "rounds": rounds, "seed": seed}
    return _verdict(
        emd(query_bank, target_bank, **how),
        emd(query_bank, targets, **how),
        emd(query_bank, np.concatenate((targets, target_bank)), **how),
    )


def bank_precondition_from_scores(
    target_bank_scores: FloatArray, target_scores: FloatArray, *, sample: int = 1000, rounds: int = 5, seed: int = 0
) -> BankPrecondition:
    """The same from scores: (bank, target bank) and (bank, gallery), one row for each banked query."""
    if len(target_bank_scores) != len(target_scores):
        raise InputError(
            "target_bank_scores",
            f"has {len(target_bank_scores)} rows and {argument('target_scores')} {len(target_scores)}",
            "both need one row for each query of the query bank",
        )
    how: Any = {"sample": sample, "rounds": rounds, "seed": seed}
    both = np.concatenate((target_scores, target_bank_scores), axis=1)
    return _verdict(
        emd_from_scores(target_bank_scores, **how), emd_from_scores(target_scores, **how), emd_from_scores(both, **how)
    )


def _verdict(to_target_bank: EMD, to_targets: EMD, to_both: EMD) -> BankPrecondition:
    holds = to_target_bank.value < to_targets.value
    near, far = (to_target_bank, to_targets) if holds else (to_targets, to_target_bank)
    certain = (near.exact and far.exact) or near.high < far.low
    return BankPrecondition(to_target_bank, to_targets, to_both, holds, certain)


def _distance(costs: Costs, n: int, m: int, sample: int, rounds: int, seed: int) -> EMD:
    if sample < 1:
        raise InputError("sample", f"is {sample}", "draw at least 1 point from each set")
    if max(n, m) <= sample:
        value = _least_cost(costs(np.arange(n), np.arange(m)))
        return EMD(value, value, value, exact=True, sample=max(n, m), rounds=1, seed=seed)
    if rounds < 2:
        raise InputError("rounds", f"is {rounds}", "an interval needs at least 2 rounds of sampling")
    rng = np.random.default_rng(seed)
    values = np.array([_least_cost(costs(_draw(rng, n, sample), _draw(rng, m, sample))) for _ in range(rounds)])
    mean, half = float(values.mean()), _half_width(values)
    return EMD(mean, mean - half, mean + half, exact=False, sample=sample, rounds=rounds, seed=seed)


def _draw(rng: np.random.Generator, size: int, sample: int) -> IntArray:
    return np.arange(size) if size <= sample else np.sort(rng.choice(size, sample, replace=False))


def _half_width(values: NDArray[np.float64]) -> float:
    from scipy.special import stdtrit

    error = values.std(ddof=1) / np.sqrt(values.size)
    return float(stdtrit(values.size - 1, (1 + LEVEL) / 2) * error)


def _least_cost(cost: FloatArray) -> float:
    ot = require("ot", extra="ot")
    n, m = cost.shape
    value, log = ot.emd2(np.full(n, 1 / n), np.full(m, 1 / m), cost, numItermax=PIVOTS, log=True)
    if log["warning"] is not None:
        raise UnhubError(f"the transport problem of {n} by {m} points was not solved: {log['warning']}")
    return float(value)


def _lengths(array: FloatArray, name: str) -> NDArray[np.float64]:
    if array.ndim != 2 or not array.size:
        raise InputError(name, f"has shape {array.shape}", "expected (points, dim) with at least one of each")
    lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", array, array, dtype=np.float64))
    wrong = ~(np.isfinite(lengths) & (lengths > 0))
    if wrong.any():
        raise InputError(name, f"has rows that are zero or not finite ({name_rows(wrong, 'row')}): no direction")
    return lengths
