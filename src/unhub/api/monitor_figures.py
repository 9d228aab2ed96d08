"""What recent queries show of a correction: figures with their standard errors, and how often each target comes up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from unhub.api.correction import Correction
from unhub.api.guard import GuardInputs, likelihood_gains
from unhub.api.monitor_history import Figure
from unhub.core.arrays import host
from unhub.core.execution import Execution
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.foundation.wording import argument
from unhub.methods.strength import STRENGTHS, Evidence, evidence_of, gains, sample_rows, standard_errors
from unhub.metrics.hubness import k_occurrence
from unhub.scores import ScoreSource, search, select

RESAMPLES = 100
"""bootstrap samples of the queries, for the standard error of a strength"""


@dataclass(frozen=True, eq=False)
class RecentFigures:
    """What recent queries show. served, raw: (queries, k) the best targets with and without the correction."""

    queries: int
    figures: Mapping[str, Figure]
    evidence: tuple[Evidence, ...]
    served: IntArray
    raw: IntArray
    gallery: int

    @property
    def counts(self) -> IntArray:
        """(gallery,) k-occurrence under the served ranking."""
        return k_occurrence(self.served, self.gallery)

    def share_of(self, targets: IntArray) -> Figure:
        """The share of all places among the k best that these targets hold."""
        return _mean(np.isin(self.served, targets).mean(axis=1))


def measure(correction: Correction, fresh: GuardInputs, k: int) -> RecentFigures:
    """The figures of a correction on recent queries, and on judged ones where there are any."""
    recent, execution = fresh.queries.recent, fresh.execution
    assert recent is not None
    rows = sample_rows(recent.shape[0])
    recent = recent if rows is None else select(recent, rows)
    if min(k, correction.bias.size) < k:
        raise InputError("k", f"is {k}, but {argument('targets')} has {correction.bias.size:,}", "use a smaller one")
    g, tau = correction.bias.astype(np.float64), fresh.tau
    reads = correction.method.reads(recent)
    values = gains(reads, g, tau, correction._linear, execution)
    evidence = [evidence_of(values, "recent")]
    figures = {
        "strength": Figure(evidence[0].strength, _strength_error(values, "recent")),
        "gain": _mean(_served_gain(correction, values, reads, tau, execution)),
    }
    if fresh.queries.judged is not None:
        judged = likelihood_gains(fresh.queries.judged, g, tau, execution)
        evidence.append(evidence_of(judged, "judged"))
        figures["judged strength"] = Figure(evidence[1].strength, _strength_error(judged, "judged"))
    ranked, served = rank_twice(correction, recent, k, execution), correction.served_bias
    figures |= _churn(ranked.raw, ranked.served) | _out_of_reach(ranked, served)
    return RecentFigures(recent.shape[0], figures, tuple(evidence), ranked.served, ranked.raw, g.size)


@dataclass(frozen=True, eq=False)
class RankedTwice:
    """The k best targets of each query without and with the correction: (query, k) each, best first.

    top: (query,) the best score. last: (query,) the k-th best corrected one.
    """

    raw: IntArray
    served: IntArray
    top: FloatArray
    last: FloatArray


def rank_twice(correction: Correction, queries: ScoreSource, k: int, execution: Execution) -> RankedTwice:
    """Both rankings of some queries."""
    scores, raw = search(queries, np.zeros_like(correction.bias), k, execution)
    corrected, served = search(queries, correction.served_bias, k, execution)
    return RankedTwice(host(raw), host(served), host(scores)[:, 0], host(corrected)[:, -1])


def _served_gain(
    correction: Correction, values: FloatArray, reads: ScoreSource, tau: float, execution: Execution
) -> FloatArray:
    """(query,) gain at the strength that is served: a column of the gains, or computed where there is none."""
    served = correction.strength
    at = np.flatnonzero(np.isclose(STRENGTHS, served))
    if at.size:
        column: FloatArray = values[:, at[0]]
        return column
    scaled = served * correction.bias.astype(np.float64)
    return gains(reads, scaled, tau, served * correction._linear, execution)[:, -1]


def _strength_error(values: FloatArray, source: str) -> float:
    """The standard error of the supported strength: its spread over resamples of the queries."""
    rng, count = np.random.default_rng(0), len(values)
    again = [evidence_of(values[rng.integers(0, count, count)], source).strength for _ in range(RESAMPLES)]  # type: ignore[arg-type]
    return round(float(np.std(again, ddof=1)), 4)


def _mean(values: FloatArray) -> Figure:
    weight = np.full(len(values), 1 / len(values))
    return Figure(float(values.mean()), float(standard_errors(values[:, None], weight)[0]))


def _churn(raw: IntArray, served: IntArray) -> dict[str, Figure]:
    """The share of the k best, and of first places, that are others with the correction."""
    stays = np.asarray([np.isin(mine, other).mean() for mine, other in zip(served, raw, strict=True)])
    return {"churn": _mean(1 - stays), "first churn": _mean((raw[:, 0] != served[:, 0]).astype(np.float64))}


def _out_of_reach(ranked: RankedTwice, bias: FloatArray) -> dict[str, Figure]:
    """Targets that no query retrieves, corrected or not; and those whose bias alone puts them out of reach."""
    m, n = len(ranked.raw), len(bias)
    pairs = np.unique(
        np.concatenate([(np.arange(m)[:, None] * n + best).ravel() for best in (ranked.raw, ranked.served)])
    )
    query, target = pairs // n, pairs % n
    times = np.bincount(target, minlength=n)
    # jackknife: leaving a query out frees the targets that it alone retrieves
    alone = np.bincount(query[times[target] == 1], minlength=m) / n
    error = float(np.sqrt((m - 1) / m * np.square(alone - alone.mean()).sum()))
    # with a score as high as the best one of its query, a target is among the k best if its bias is above -gap
    gaps = np.sort((ranked.top - ranked.last).astype(np.float64))
    buried, without = float(np.mean(bias < -gaps[-1])), float(np.mean(bias < -gaps[-2]))
    return {
        "never retrieved": Figure(float(np.mean(times == 0)), error),
        "buried": Figure(buried, without - buried),
    }
