"""Which traffic a bank looks like: even, or a log in which some targets are popular. Vectors alone seldom tell."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from unhub.dataset.task import Task
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import argument, setting

Situation = Literal["even", "own_log", "unknown"]

FEWEST_CLICKS = 100
"""clicks without which chance makes some targets popular"""
REPEATED, MOST_COMMON = 0.05, 5
"""share of the bank that repeats another query, and times that the most common one comes, in a log of popular queries:
a file that was written twice has as many repeats, but each query twice"""
FEWEST_DIFFERENT = 50
"""different queries below which repeats are those of a bot or a test, not of people"""
UNEVEN = 2.0
"""times as many pairs of clicks on one target as even traffic has; Zipf's law with .8 has 2.7 at 60 targets and more
at larger galleries"""
DEVIATIONS = 4.0
"""standard deviations of chance that it must be above one"""
OWN_LOG = (
    f"If it is this gallery's own log, pass {setting('own_log', True)}, and with clicks and about 50 judged queries "
    f"{setting('target_prior', 'clicks')}: the clicks are used only if those prefer them."
)
EVEN = "Even traffic is the default; pass nothing."
UNKNOWN = (
    f"Popular targets and hubs look alike in vectors; {argument('clicks')}, or about 50 judged queries, would tell. "
    "Without them it counts as even."
)


@dataclass(frozen=True)
class Traffic:
    """What the traffic of a bank looks like.

    looks_like: "even", "own_log" or "unknown". repeated: share of the bank that repeats another query. most_common: how
    often the most common query comes. unevenness: pairs of clicks on one target, as a multiple of even traffic; None
    without enough clicks. sentence: all of it in words, with what to do.
    """

    looks_like: Situation
    repeated: float
    most_common: int
    unevenness: float | None
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data, but for the sentence."""
        return {name: value for name, value in asdict(self).items() if name != "sentence"}


def traffic_of(task: Task, clicks: FloatArray | None = None) -> Traffic:
    """Which traffic the bank of a task looks like; clicks: (gallery,) how often each target was clicked."""
    plain = replace(
        task, weigh_duplicates=True, duplicate_share=0.0, banks=replace(task.banks, query_weight=None)
    ).deduplicated
    times = plain.banks.query_weight
    most = 1 if times is None else int(times.max())
    repeated, uneven = plain.duplicate_share, None if clicks is None else unevenness(clicks)
    comes = "comes once" if most == 1 else f"comes {most:,} times"
    facts = f"{100 * repeated:.0f}% of the bank repeats another query, the most common one {comes}"
    if uneven is not None:
        facts += f"; pairs of clicks fall on one target {uneven:.1f} times as often as in even traffic"
    if uneven is not None:
        popular = uneven > max(UNEVEN, 1 + DEVIATIONS * np.sqrt(2 * len(clicks)) / clicks.sum())  # type: ignore[arg-type, union-attr]
        looks: Situation = "own_log" if popular else "even"
    else:
        different = plain.banks.queries.shape[0]
        popular = repeated >= REPEATED and most >= MOST_COMMON and different >= FEWEST_DIFFERENT
        looks = "own_log" if popular else "unknown"
    advice = {"own_log": OWN_LOG, "even": EVEN, "unknown": UNKNOWN}[looks]
    names = {"own_log": "looks like a log with popular targets", "even": "looks even", "unknown": "can't tell"}
    return Traffic(looks, repeated, most, uneven, f"Traffic: {names[looks]} ({facts}). {advice}")


def unevenness(clicks: FloatArray) -> float | None:
    """Pairs of clicks on one target, as a multiple of what even traffic has; None for fewer than 100 clicks.

    >>> unevenness(np.full(50, 20.0)) < 1, unevenness(np.array([900.0] + [2.0] * 49)) > 40
    (True, True)
    """
    total = float(clicks.sum())
    if total < FEWEST_CLICKS:
        return None
    return float(len(clicks) * (clicks * np.maximum(clicks - 1, 0)).sum() / (total * (total - 1)))
