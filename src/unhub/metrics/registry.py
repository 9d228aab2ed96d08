"""The metrics by name; a name that does not exist is answered with those that do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from unhub.foundation.errors import InputError
from unhub.metrics import hubness, retrieval
from unhub.metrics.definition import Metric, rate, unevenness

FAMILIES: Mapping[str, Callable[[int], Metric]] = MappingProxyType(
    {
        "R": lambda k: rate("R", "hit_rate", retrieval.hit_rate, k),
        "recall": lambda k: rate("recall", "recall", retrieval.recall, k),
        "ndcg": lambda k: rate("ndcg", "ndcg", retrieval.ndcg, k),
        "skew": lambda k: unevenness("skew", hubness.skewness, k, larger_is_better=None),
        "antihub": lambda k: unevenness("antihub", hubness.antihub_share, k, percent=True),
        "max_n": lambda k: unevenness("max_n", hubness.largest_count, k),
        "robin_hood": lambda k: unevenness("robin_hood", hubness.robin_hood, k),
        "gini": lambda k: unevenness("gini", hubness.gini, k),
    }
)
"""Metrics with a number: ``R@50`` is ``FAMILIES["R"](50)``."""

_SINGLE = (
    Metric("mrr", "mrr", retrieval.reciprocal_rank, percent=True, larger_is_better=True),
    Metric("map", "map", retrieval.average_precision, percent=True, larger_is_better=True),
    Metric("MdR", "median_rank", retrieval.best_rank, average=np.median, larger_is_better=False),
    Metric("MnR", "mean_rank", retrieval.best_rank, larger_is_better=False),
    Metric("gmean", "gmean", whole=retrieval.gmean, percent=True, larger_is_better=True),
)

METRICS: Mapping[str, Metric] = MappingProxyType(
    {each.name: each for each in (*(make(k) for make in FAMILIES.values() for k in (1, 5, 10)), *_SINGLE)}
)
"""The metrics by public name, families at 1, 5 and 10; `metric` knows every other k."""

DEFAULT_METRICS = ("R@1", "R@5", "R@10", "MdR", "MnR", "gmean", "skew@1", "skew@5", "skew@10", "antihub@10")
HUBNESS_METRICS = tuple(
    f"{name}@{k}" for name in ("skew", "antihub", "max_n", "robin_hood", "gini") for k in (1, 5, 10)
)
_ALIASES = {"median_rank": "MdR", "mean_rank": "MnR", "hit_rate": "R", "max N": "max_n"}


def metric(name: str) -> Metric:
    """The metric of that name, such as ``MdR``, ``R@50`` or its JSON name ``hit_rate@50``.

    >>> metric("ndcg@20").percent, metric("hit_rate@3").name, metric("max N_10").name
    (True, 'R@3', 'max_n@10')
    """
    stem, _, k = re.sub(r"^max N_(\d+)$", r"max N@\1", name).partition("@")
    known = _ALIASES.get(stem, stem)
    full = f"{known}@{k}" if k else known
    if full in METRICS:
        return METRICS[full]
    if known in FAMILIES and re.fullmatch(r"[1-9][0-9]*", k):
        return FAMILIES[known](int(k))
    raise InputError(_unknown(name, stem, k))


def _unknown(name: str, stem: str, k: str) -> str:
    """The sentence for a name that does not exist: the closest one, and all there are."""
    singles = [each.name for each in _SINGLE]
    listed = "the metrics are " + ", ".join([*(f"{family}@k" for family in FAMILIES), *singles])
    if stem in FAMILIES:
        return f"metric {name!r} needs a whole number from 1 on after the @, such as '{stem}@10'; {listed}"
    spelled = {each.lower(): f"{each}@{k or 10}" if each in FAMILIES else each for each in (*FAMILIES, *singles)}
    close = difflib.get_close_matches(stem.lower(), spelled, n=1, cutoff=0.5)
    hint = f", did you mean {spelled[close[0]]!r}?" if close else ";"
    return f"there is no metric {name!r}{hint} {listed}"


def depth_needed(names: Iterable[str] = DEFAULT_METRICS) -> int:
    """How many of the best targets of each query a ranking must keep for these metrics: `Ranker(depth=...)`.

    >>> depth_needed(["R@50", "skew@20"])
    20
    """
    return max((metric(name).depth for name in names), default=1)
