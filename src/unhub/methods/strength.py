"""The strength that queries support: Sinkhorn's own dual on queries that the bias was not fitted on.

For a bias g at strength 1, a target marginal b and queries U that g was not fitted on,

    F(l) = l sum_j b_j g_j - tau mean_{u in U} log sum_j exp((s_uj + l g_j) / tau)

is the semi-dual of entropic transport at the potential l g: concave in l, and largest at the strength that suits the
population of U. With judged queries, sum_j b_j g_j is the mean of g over their right targets, and F is the
log-likelihood of the answers under softmax((s + l g) / tau). (F(l) - F(0)) / tau is in nats per query. Values of F can
be compared at one tau only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from unhub.core.execution import Execution
from unhub.core.parameters import as_number
from unhub.foundation.types import FloatArray, IntArray
from unhub.methods.interface import AdditiveMethod
from unhub.methods.temperature import auto_temperature
from unhub.scores import Banks, ScoreSource, Spread, row_logsumexps, select
from unhub.scores.dual import WIDEST
from unhub.scores.folds import ONCE
from unhub.scores.spread import slices

Source = Literal["bank", "recent", "judged"]

FOLDS = 5
"""parts of a small bank, each held out once"""
LARGE = 4096
"""bank queries from which one held-out slice says enough: its fit costs a third of the first one"""
MOST_HELD_OUT = 2048
"""queries in that slice, and recent queries that are used, at most: more move the strength by less than .01"""
FEWEST = 10
"""distinct bank queries without which there is nothing to hold out"""
STRENGTHS: FloatArray = np.linspace(0.0, 1.0, 101)
"""strengths that are compared"""
KNOTS = 5
"""a spline may go through every so many of them"""
SMALLEST = 1.01
"""queries that weights are worth, at the least; one that weighs all would have no standard error"""
MEMORY_SHARE = 16
"""one part of the memory in so many may be a matrix of gallery x strengths"""
ROUNDING = 1e-9
"""nats that are rounding, not a gain"""
CAUTION = 0.5
"""paired standard errors that the smallest supported strength may lie below the best one"""
TRIMMED = 0.01
"""share of recent queries left out, those that gain the most: a bias must not stand on a few queries like the bank's"""


@dataclass(frozen=True)
class Evidence:
    """What some queries say of the strength.

    source: "bank" (held out of the bank), "recent" or "judged" queries. strength: what they support, from 0 to 1. gain:
    in nats per query at that strength, or at strength 1 where they support none. standard_error: of the gain. queries:
    how many there are. with_all: what recent queries support with the few of them that gain the most, where that is
    more, and strength and gain are those of the others; otherwise None.
    """

    source: Source
    strength: float
    gain: float
    standard_error: float
    queries: int
    with_all: float | None = None

    @property
    def left_out(self) -> int:
        """How many queries do not count for the strength: those that gain the most, or none."""
        return 0 if self.with_all is None else math.ceil(TRIMMED * self.queries)


def gains(
    source: ScoreSource, g: FloatArray, tau: float, linear: FloatArray | float, execution: Execution = ONCE
) -> FloatArray:
    """(F_u(l) - F_u(0)) / tau of every query u and every strength l of STRENGTHS, in nats: (query, strengths).

    source: queries x gallery. g: (gallery,), mean zero. linear: sum_j b_j g_j, or for judged queries (query,) the mean
    of g over the right targets of each.
    """
    sums = _dual_sums(source, tau, g, execution)
    straight = np.multiply.outer(np.broadcast_to(linear, len(sums)), STRENGTHS)
    values: FloatArray = (straight - (sums - sums[:, :1])) / tau
    return values


def _dual_sums(source: ScoreSource, tau: float, g: FloatArray, execution: Execution) -> FloatArray:
    """tau log sum_j exp((s_uj + l g_j) / tau) of every query and strength.

    Where a matrix of gallery x strengths would take much of the memory, every fifth strength is computed and a cubic
    spline gives the others: the sums are smooth in l, and their mean is right to .002 nats.
    """
    if 4 * len(g) * len(STRENGTHS) <= execution.bytes // MEMORY_SHARE or np.ptp(g) > WIDEST * tau:
        return row_logsumexps(source, tau, g, STRENGTHS, execution)
    from scipy.interpolate import CubicSpline

    knots = STRENGTHS[::KNOTS]
    sums: FloatArray = CubicSpline(knots, row_logsumexps(source, tau, g, knots, execution), axis=1)(STRENGTHS)
    return sums


def evidence_of(
    values: FloatArray,
    source: Source,
    weight: FloatArray | None = None,
    *,
    caution: float = CAUTION,
    trimmed: float = TRIMMED,
) -> Evidence:
    """The strength that the gains of some queries (query, strengths) support.

    Of held-out bank queries and judged ones the one with the largest mean; of recent queries the smallest within half
    a paired standard error of it, also without the hundredth of them that gains the most.
    weight: (query,) how much each counts. caution, trimmed: what to take for that half, and for that hundredth.
    """
    count, number = values.shape
    w = np.full(count, 1 / count) if weight is None else weight / weight.sum()
    mean = w @ values
    chosen, with_all = int(mean.argmax()), None
    if source == "recent":
        order = np.argsort(values[:, chosen], kind="stable")
        without = values[order[: max(1, count - math.ceil(trimmed * count))]]
        whole, robust = _smallest_supported(values, caution), _smallest_supported(without, caution)
        chosen = min(whole, robust)
        if robust < whole:
            with_all, values, w = _strength_at(whole, number), without, np.full(len(without), 1 / len(without))
    if mean[chosen] < ROUNDING:
        chosen = 0
    shown = chosen or number - 1
    gain, error = float(w @ values[:, shown]), float(standard_errors(values[:, [shown]], w)[0])
    return Evidence(source, _strength_at(chosen, number), gain, error, count, with_all)


def _strength_at(column: int, number: int) -> float:
    return round(column / (number - 1), 2)


def _smallest_supported(values: FloatArray, caution: float) -> int:
    """The first column whose mean is within some paired standard errors of the largest one."""
    mean = values.mean(axis=0)
    best = int(mean.argmax())
    error = standard_errors(values[:, [best]] - values[:, : best + 1], np.full(len(values), 1 / len(values)))
    return int(np.argmax(mean[best] - mean[: best + 1] <= caution * error))


def standard_errors(values: FloatArray, weight: FloatArray) -> FloatArray:
    """The standard error of the weighted mean of each column; infinite for a single query."""
    if len(values) < 2:
        return np.full(values.shape[1], np.inf)
    size = max(SMALLEST, float(1 / np.square(weight).sum()))  # of a sample of equal weights that says as much
    apart = values - weight @ values
    errors: FloatArray = np.sqrt(np.square(weight) @ np.square(apart) * size / (size - 1))
    return errors


def held_out_parts(draws: FloatArray) -> tuple[IntArray, ...]:
    """Which rows of a small bank to hold out: five parts, each of which has queries from end to end of the draws.

    draws: (bank,) a number for each query.
    """
    order = np.argsort(draws, kind="stable")
    return tuple(np.sort(order[first::FOLDS]) for first in range(FOLDS)) if len(order) >= FEWEST else ()


def held_out_slice(rows: int) -> tuple[IntArray, ...]:
    """Which rows of a large bank to hold out: one part of evenly spaced slices."""
    starts, height = slices(rows, min(rows // FOLDS, MOST_HELD_OUT))
    return (np.concatenate([np.arange(start, start + height) for start in starts]),)


def bank_evidence(method: AdditiveMethod, banks: Banks, biases: Sequence[FloatArray], tau: float) -> Evidence:
    """What the bank's own queries support, each judged by a bias that was fitted without it.

    banks: with the rows that were held out. biases: (gallery,) each, fitted without one part of them.
    """
    scores, weight = method.reads(banks.queries), banks.query_weight
    parts = [
        gains(select(scores, rows), g, tau, linear_term(banks, g), banks.execution)
        for rows, g in zip(banks.held_out, biases, strict=True)
    ]
    order: Any = np.concatenate(banks.held_out)
    return evidence_of(np.concatenate(parts), "bank", None if weight is None else weight[order])


def linear_term(banks: Banks, g: FloatArray) -> float:
    """sum_j b_j g_j"""
    return float(banks.target_marginal() @ g)


def judging_temperature(method: AdditiveMethod, spread: Spread) -> float:
    """tau of F: the method's own, but at most half the spread; what suits the scores for a method without.

    At a tau that is large beside the spread, F rewards any bias that evens out the means of the targets.
    """
    if method.temperature is None:
        return auto_temperature(spread)
    return min(as_number(method.temperature), auto_temperature(spread, fixed=True))


def sample_rows(rows: int) -> IntArray | None:
    """Which of many recent queries are used: evenly spaced ones; None for all."""
    return None if rows <= MOST_HELD_OUT else np.linspace(0, rows - 1, MOST_HELD_OUT).astype(np.int64)
