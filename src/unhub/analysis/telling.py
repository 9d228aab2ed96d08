"""The sentence on top and the verdict: what happened, in numbers, and whether to use it."""

from __future__ import annotations

import numpy as np

from unhub.analysis.model import Headline, Range, Verdict
from unhub.api.evaluation import MethodResult
from unhub.foundation.types import AnyArray, IntArray
from unhub.metrics import antihub_share, bootstrap_difference, k_occurrence

HEADS = 0.01
"""the share of targets that is called the most frequent: of those that the places could be spread over"""
LEVEL = 0.95
SEEN = 0.01
"""the share of test queries in a bank from which a gain is no longer one on new queries"""


def counts_of(row: MethodResult, gallery: int, k: int) -> IntArray:
    """How many queries have each target among their first k."""
    return k_occurrence(row.top, gallery, min(k, row.top.shape[1]))


def headline(before: IntArray, after: IntArray, k: int, noun: str, name: str | None) -> Headline:
    """How many of the first places the most frequent targets take; name: of the correction, None without one.

    >>> told = headline(np.array([8, 1, 1, 0]), np.array([3, 3, 2, 2]), 1, "images", "SN")
    >>> told.sentence
    '1 of 4 images takes 80 % of the first places; after SN 30 %.'
    """
    heads = max(
        1, round(HEADS * min(len(before), int(before.sum())))
    )  # fewer, where there are fewer places than targets
    shares = [_share(counts, heads) for counts in (before, after)]
    places = "first places" if k == 1 else f"places among the first {k}"
    takes = "takes" if heads == 1 else "take"
    sentence = f"{heads:,} of {len(before):,} {noun} {takes} {_percent(shares[0])} of the {places}"
    sentence += f"; after {name} {_percent(shares[1])}." if name else "."
    never = [antihub_share(counts) for counts in (before, after)]
    return Headline(sentence, k, heads, len(before), shares[0], shares[1], never[0], never[1])


def gain_of(before: MethodResult, after: MethodResult, clusters: AnyArray, *, rounds: int, seed: int) -> Range | None:
    """What R@1 gains, in points, with its paired interval; None where nothing is judged."""
    if "R@1" not in before.per_query:
        return None
    values = (100 * row.per_query["R@1"] for row in (after, before))
    found = bootstrap_difference(*values, clusters=clusters, rounds=rounds, level=LEVEL, seed=seed)
    return Range(found.value, found.low, found.high)


def verdict(gain: Range | None, name: str, *, corrected: bool, shared: float | None = 0.0) -> Verdict:
    """Whether the correction helps these queries, or may be chance, or hurts.

    shared: the share of the test queries that is in the bank; None if they are the bank.
    """
    if not corrected:
        return Verdict("unknown", "No correction is chosen: this is the ranking as it is.")
    if gain is None:
        return Verdict(
            "unknown",
            f"It is not known which answers are right, so that nobody can say whether {name} helps; only how evenly "
            f"targets are retrieved.",
        )
    told = f"{gain.value:+.1f} points of R@1 on these queries (95 % interval {gain.low:+.1f} to {gain.high:+.1f})"
    if shared is None:
        told += "; it had the test queries in advance, as no running system does"
    elif shared:
        told += f"; {_percent(shared)} of the test queries are in its bank"
    if gain.low == gain.high == 0:
        return Verdict("unclear", f"{name} changes no first place that matters here, for better or worse.")
    if gain.low > 0:
        seen = shared is None or shared > SEEN
        return Verdict("upper bound" if seen else "use", f"{name} helps: {told}.")
    if gain.high < 0:
        return Verdict("do not use", f"{name} hurts: {told}. Leave the ranking as it is.")
    return Verdict("unclear", f"What {name} does may be chance: {told}. Leave the ranking as it is.")


def _share(counts: IntArray, heads: int) -> float:
    ordered = np.sort(counts)[::-1]
    return float(ordered[:heads].sum() / max(1, counts.sum()))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.1f} %"
