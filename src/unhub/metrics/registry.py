"""The metrics by name, and a ranking measured by them; a name that does not exist is answered with those that do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.optional import load_plugin, plugins
from unhub.metrics import hubness, retrieval
from unhub.metrics.definition import Metric, rate, unevenness
from unhub.metrics.ranking import Ranking
from unhub.metrics.retrieval import PerQuery

GROUP = "unhub.metrics"
"""entry points of this group offer metrics, by their names"""

FAMILIES: Mapping[str, Callable[[int], Metric]] = MappingProxyType(
    {
        "R": lambda k: rate(
            "R", "hit_rate", retrieval.hit_rate, k, "hit rate", "Share of queries with a right target in the top {k}."
        ),
        "recall": lambda k: rate(
            "recall", "recall", retrieval.recall, k, "recall", "Share of a query's right targets in the top {k}."
        ),
        "ndcg": lambda k: rate(
            "ndcg", "ndcg", retrieval.ndcg, k, "nDCG", "Discounted gain of the top {k} over that of the best order."
        ),
        "skew": lambda k: unevenness(
            "skew", hubness.skewness, k, "skewness",
            "Skewness of how often each target is in a top {k}; hubs make it large.", larger_is_better=None,
        ),
        "antihub": lambda k: unevenness(
            "antihub", hubness.antihub_share, k, "antihub share", "Share of targets that are in no top {k}.",
            percent=True,
        ),
        "max_n": lambda k: unevenness(
            "max_n", hubness.largest_count, k, "largest hub", "How often the greatest hub is in a top {k}."
        ),
        "robin_hood": lambda k: unevenness(
            "robin_hood", hubness.robin_hood, k, "Robin Hood index",
            "Share of the places in the top {k} that would have to change hands for all targets to have the same.",
        ),
        "gini": lambda k: unevenness(
            "gini", hubness.gini, k, "Gini coefficient", "How unevenly the places in the top {k} are spread."
        ),
    }
)  # fmt: skip
"""Metrics with a number: ``R@50`` is ``FAMILIES["R"](50)``."""

_SINGLE = (
    Metric(
        "mrr", per_query=retrieval.reciprocal_rank, percent=True, larger_is_better=True, digits=1,
        title="mean reciprocal rank", description="Mean of 1 / rank of the best right target.",
    ),
    Metric(
        "map", per_query=retrieval.average_precision, percent=True, larger_is_better=True, digits=1,
        title="mean average precision", description="Mean precision at the ranks of the right targets.",
    ),
    Metric(
        "MdR", "median_rank", retrieval.best_rank, average=np.median, larger_is_better=False, digits=1,
        title="median rank", description="Median rank of the best right target.",
    ),
    Metric(
        "MnR", "mean_rank", retrieval.best_rank, larger_is_better=False, digits=1,
        title="mean rank", description="Mean rank of the best right target.",
    ),
    Metric(
        "gmean", whole=retrieval.gmean, percent=True, larger_is_better=True, digits=1,
        title="geometric mean", description="Geometric mean of R@1, R@5 and R@10.",
    ),
)  # fmt: skip

METRICS: Mapping[str, Metric] = MappingProxyType(
    {each.name: each for each in (*(make(k) for make in FAMILIES.values() for k in (1, 5, 10)), *_SINGLE)}
)
"""The metrics by public name, families at 1, 5 and 10; `metric` knows every other k."""

DEFAULT_METRICS = ("R@1", "R@5", "R@10", "MdR", "MnR", "gmean", "skew@1", "skew@5", "skew@10", "antihub@10")
HUBNESS_METRICS = tuple(
    f"{name}@{k}" for name in ("skew", "antihub", "max_n", "robin_hood", "gini") for k in (1, 5, 10)
)
_ALIASES = {"median_rank": "MdR", "mean_rank": "MnR", "hit_rate": "R", "max N": "max_n"}
_REGISTERED: dict[str, Metric] = {}


@dataclass(frozen=True, eq=False)
class Measurement:
    """A ranking measured: each metric's number, and the values of each query where it has them.

    ``per_query`` is not in percent, and NaN for a query that is not judged.
    """

    values: dict[str, float]
    per_query: dict[str, PerQuery]


def measure(ranking: Ranking, names: Iterable[str] = DEFAULT_METRICS) -> Measurement:
    """Each metric asked for, under the name it was asked by; every value is computed once.

    In percent (0 .. 100): R@k, recall@k, ndcg@k, mrr, map, gmean, antihub@k. As they are: MdR, MnR (ranks),
    max_n@k (a count), skew@k, robin_hood@k and gini@k. Queries without a relevant target count for hubness
    only.
    """
    measured = Measurement({}, {})
    for name in names:
        its = metric(name)
        values = None if its.per_query is None else its.per_query(ranking)
        if values is not None:
            measured.per_query[name] = values
        measured.values[name] = its.value_of(ranking, values)
    return measured


def summarise(ranking: Ranking, names: Iterable[str] = DEFAULT_METRICS) -> dict[str, float]:
    """The numbers of ``measure`` alone."""
    return measure(ranking, names).values


def per_query(ranking: Ranking, name: str) -> PerQuery | None:
    """One value per query, not in percent, NaN for a query not judged; None for whole-set metrics."""
    function = metric(name).per_query
    return None if function is None else function(ranking)


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
    if name not in _REGISTERED:
        theirs = load_plugin(GROUP, name)
        if theirs is None:
            raise InputError(_unknown(name, stem, k))
        if getattr(theirs, "name", None) != name:
            raise InputError(f"the entry point {name!r} of {GROUP} does not give a metric of that name.")
        register_metric(theirs)
    return _REGISTERED[name]


def register_metric(new: Metric) -> Metric:
    """Adds a metric, so that every function and command knows it by its name.

    new: a ``Metric`` with a name that is free, and either ``per_query`` or ``whole``.

    Returns the metric. A package offers its metrics to everyone by entry points of the group "unhub.metrics" instead.
    """
    if not isinstance(new, Metric):
        raise InputError(f"a metric is an object unhub.metrics.Metric(name, ...); got {new!r}.")
    if (new.per_query is None) == (new.whole is None):
        raise InputError(f"the metric {new.name!r} needs either per_query or whole, and not both.")
    stem = new.name.partition("@")[0]
    if re.fullmatch(r"[A-Za-z][\w.-]*(@[1-9][0-9]*)?", new.name) is None:
        raise InputError(
            f"a metric cannot be called {new.name!r}; use letters, digits and underscores, such as hits@5."
        )
    taken = {*FAMILIES, *_ALIASES, *(each.name for each in _SINGLE)}
    if stem in taken or (new.name in _REGISTERED and _REGISTERED[new.name] != new):
        raise InputError(f"there is a metric {new.name!r} already; choose another name.")
    _REGISTERED[new.name] = new
    return new


def metric_names() -> tuple[str, ...]:
    """The names of all metrics, families as ``R@k``; registered and installed ones too."""
    own = (*(f"{family}@k" for family in FAMILIES), *(each.name for each in _SINGLE))
    return tuple(dict.fromkeys((*own, *_REGISTERED, *plugins(GROUP))))


def _unknown(name: str, stem: str, k: str) -> str:
    """The sentence for a name that does not exist: the closest one, and all there are."""
    names = metric_names()
    listed = "the metrics are " + ", ".join(names)
    if stem in FAMILIES:
        return f"metric {name!r} needs a whole number from 1 on after the @, such as '{stem}@10'; {listed}."
    spelled = {each.removesuffix("@k").lower(): each.replace("@k", f"@{k or 10}") for each in names}
    close = difflib.get_close_matches(stem.lower(), spelled, n=1, cutoff=0.5)
    hint = f", did you mean {spelled[close[0]]!r}?" if close else ";"
    return f"there is no metric {name!r}{hint} {listed}."


def depth_needed(names: Iterable[str] = DEFAULT_METRICS) -> int:
    """How many of the best targets of each query a ranking must keep for these metrics: `Ranker(depth=...)`.

    >>> depth_needed(["R@50", "skew@20"])
    20
    """
    return max((metric(name).depth for name in names), default=1)
