"""The headline, the verdict that these queries give, and that of the guard, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import get_args

import numpy as np

from unhub.analysis.model import Estimate, GuardEvidence, Headline, MeasuredEffect, VerdictCard
from unhub.api.evaluation import MethodResult
from unhub.api.verdict import APPLY, NAMES, WEAKER, Check, Decision, Verdict
from unhub.foundation.tables import percent
from unhub.foundation.types import AnyArray, IntArray
from unhub.metrics import antihub_share, bootstrap_difference

HEADS = 0.01
"""the share of targets that the headline looks at: of those that the places could be spread over"""
LEVEL = 0.95
SEEN = 0.01
"""the share of test queries in a bank above which a gain is an upper bound"""
COLOURS: Mapping[Decision, str] = {"apply": "use", "apply weaker": "unclear", "refuse": "refuse"}
"""the CSS class of each decision"""
JUDGED = "Guard: judged by queries that the bias was not fitted on."


def headline(before: IntArray, after: IntArray, k: int, noun: str, title: str | None) -> Headline:
    """The share of the first k places that the most retrieved targets take; title: of the correction, if any.

    >>> headline(np.array([8, 1, 1, 0]), np.array([3, 3, 2, 2]), 1, "images", "SN").sentence
    '1 of 4 images takes 80% of the first places; 30% with SN. Fair would be 25%.'
    """
    heads = max(1, round(HEADS * min(len(before), int(before.sum()))))  # fewer places than targets: fewer heads
    shares = [_share(counts, heads) for counts in (before, after)]
    places = "first places" if k == 1 else f"places among the first {k}"
    takes = "takes" if heads == 1 else "take"
    sentence = f"{heads:,} of {len(before):,} {noun} {takes} {percent(shares[0])} of the {places}"
    sentence += f"; {percent(shares[1])} with {title}." if title else "."
    sentence += f" Fair would be {percent(heads / max(1, len(before)))}."
    never = [antihub_share(counts) for counts in (before, after)]
    return Headline(sentence, k, heads, len(before), shares[0], shares[1], never[0], never[1])


def gain_of(
    before: MethodResult, after: MethodResult, clusters: AnyArray, *, rounds: int, seed: int
) -> Estimate | None:
    """The gain in R@1, in points, with its paired interval; None without relevance."""
    if "R@1" not in before.per_query:
        return None
    values = (100 * row.per_query["R@1"] for row in (after, before))
    gain = bootstrap_difference(*values, clusters=clusters, rounds=rounds, level=LEVEL, seed=seed)
    return Estimate(gain.value, gain.low, gain.high)


def measured_effect(
    gain: Estimate | None, title: str, *, corrected: bool, shared: float | None = 0.0, strength: float | None = None
) -> MeasuredEffect:
    """Whether the correction helps these queries, hurts, or may be chance.

    shared: the share of the test queries in the bank; None if they are the bank. strength: that is served, if it is a
    bias.
    """
    if not corrected:
        return MeasuredEffect("unknown", "No correction is chosen.")
    if strength == 0:
        return MeasuredEffect("refused", f"{title} is not served, so every query has the results of no correction.")
    if gain is None:
        return MeasuredEffect(
            "unknown", "Can't judge accuracy: there are no relevance labels. Add them to see if it helps."
        )
    facts = f"{gain.value:+.1f} points of R@1 on these queries (95% interval {gain.low:+.1f} to {gain.high:+.1f})"
    if shared:
        facts += f"; {percent(shared)} of the test queries are in its bank"
    bound = "" if shared is not None else " Upper bound: estimated from the test queries themselves."
    if gain.low == gain.high == 0:
        return MeasuredEffect("unclear", f"{title} changes no first place that matters here.")
    if gain.low > 0:
        seen = shared is None or shared > SEEN
        return MeasuredEffect("upper bound" if seen else "use", f"{title} helps: {facts}.{bound}")
    advice = " Leave the ranking as it is."
    if gain.high < 0:
        return MeasuredEffect("do not use", f"{title} hurts: {facts}.{bound}{advice}")
    return MeasuredEffect("unclear", f"The effect of {title} may be chance: {facts}.{bound}{advice}")


def verdict_card(verdict: Verdict) -> VerdictCard:
    """The guard's verdict as plain data.

    >>> from unhub.api.verdict import given_verdict
    >>> verdict_card(given_verdict(0.5)).headline
    'APPLY at strength 0.5'
    """
    evidence = [
        GuardEvidence(
            source=each.source,
            name=NAMES[each.source],
            strength=each.strength,
            gain=each.gain,
            standard_error=each.standard_error if math.isfinite(each.standard_error) else None,
            queries=each.queries,
            left_out=each.left_out,
            with_all=each.with_all,
            binding=each is verdict.binding,
        )
        for each in verdict.evidence
    ]
    return VerdictCard(
        decision=verdict.decision,
        strength=verdict.strength,
        reason=verdict.reason,
        headline=verdict.headline,
        sentence=verdict.sentence,
        summary=verdict.summary,
        basis=JUDGED if verdict.reason == "judged" else "",
        evidence=evidence,
        checks={name: name in verdict.checked for name in get_args(Check)},
        limits=[WEAKER, APPLY],
        colour=COLOURS[verdict.decision],
    )


def _share(counts: IntArray, heads: int) -> float:
    ordered = np.sort(counts)[::-1]
    return float(ordered[:heads].sum() / max(1, counts.sum()))
