"""What a metric is, the metrics by name, and a ranking measured by them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from unhub.foundation.errors import InputError
from unhub.foundation.optional import load_plugin, plugins
from unhub.metrics import hubness, retrieval
from unhub.metrics.ranking import Ranking
from unhub.metrics.retrieval import PerQuery

GROUP = "unhub.metrics"
"""entry points of this group offer metrics, by their names"""


@dataclass(frozen=True)
class Metric:
    """One number about a ranking: its name, how it is computed, how to read it.

    Either ``per_query`` gives a value for each query, and ``average`` (the mean, as a rule) makes one of them, or
    ``whole`` looks at all queries together.

    name, json_name: in tables, and in JSON.
    title, description: a few words, and a sentence; the title is the name unless given.
    percent: a share, given as 0 .. 100 by ``measure``.
    larger_is_better: the direction; None where the best value is neither the largest nor the smallest.
    depth: how many of the best targets of each query it reads.
    digits: decimals that are shown.
    """

    name: str
    json_name: str = ""
    per_query: Callable[[Ranking], PerQuery] | None = None
    average: Callable[[PerQuery], np.floating] = np.mean
    whole: Callable[[Ranking], float] | None = None
    percent: bool = False
    larger_is_better: bool | None = None
    depth: int = 1
    title: str = ""
    description: str = ""
    digits: int = 2

    def __post_init__(self) -> None:
        for name in ("json_name", "title"):
            object.__setattr__(self, name, getattr(self, name) or self.name)

    def value(self, ranking: Ranking) -> float:
        """The number itself, over the queries that have a relevant target; in percent for a share."""
        return self.value_of(ranking, None if self.per_query is None else self.per_query(ranking))

    def value_of(self, ranking: Ranking, values: PerQuery | None) -> float:
        """The same from the values of each query, where it has them: what ``per_query`` gives."""
        scale = 100.0 if self.percent else 1.0
        if values is None:
            assert self.whole is not None
            return scale * float(self.whole(ranking))
        judged = ranking.relevance.judged()
        if not judged.any():
            raise InputError(f"{self.name} needs a query with a relevant target, but no query has one.")
        return float(self.average(scale * values[judged]))

    def shown(self, value: float) -> str:
        """The value as a table has it."""
        return f"{value:.{self.digits}f}"


_RATES: Mapping[str, tuple[str, Callable[[Ranking, int], PerQuery], str, str]] = {
    "R": ("hit_rate", retrieval.hit_rate, "hit rate", "Share of queries with a right target in the top {k}."),
    "recall": ("recall", retrieval.recall, "recall", "Share of a query's right targets in the top {k}."),
    "ndcg": ("ndcg", retrieval.ndcg, "nDCG", "Discounted gain of the top {k} over that of the best order."),
}
"""shares of each query at a cut-off k: JSON name, function, title, description"""

_COUNTS: Mapping[str, tuple[Callable[[ArrayLike], float], str, str]] = {
    "skew": (hubness.skewness, "skewness", "Skewness of how often each target is in a top {k}; hubs make it large."),
    "antihub": (hubness.antihub_share, "antihub share", "Share of targets that are in no top {k}."),
    "max_n": (hubness.largest_count, "largest hub", "How often the greatest hub is in a top {k}."),
    "robin_hood": (
        hubness.robin_hood,
        "Robin Hood index",
        "Share of top-{k} places to move for all targets to be equal.",
    ),
    "gini": (hubness.gini, "Gini coefficient", "How unevenly the places in the top {k} are spread."),
}
"""numbers from the k-occurrences of all targets: function, title, description"""


def _rate(name: str, k: int) -> Metric:
    json_name, function, title, description = _RATES[name]
    return Metric(
        f"{name}@{k}", f"{json_name}@{k}", lambda ranking: function(ranking, k), percent=True, larger_is_better=True,
        title=f"{title} at {k}", description=description.format(k=k), digits=1,
    )  # fmt: skip


def _unevenness(name: str, k: int) -> Metric:
    function, title, description = _COUNTS[name]
    percent = name == "antihub"
    return Metric(
        f"{name}@{k}", whole=lambda ranking: function(ranking.occurrences(k)), percent=percent, depth=k,
        larger_is_better=None if name == "skew" else False, digits=1 if percent else 2,
        title=f"{title} at {k}", description=description.format(k=k),
    )  # fmt: skip


FAMILIES: Mapping[str, Callable[[int], Metric]] = MappingProxyType(
    {name: partial(_rate, name) for name in _RATES} | {name: partial(_unevenness, name) for name in _COUNTS}
)
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
    """Each of these metrics by the name it was asked for; every value is computed once.

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
    >>> metric("MRR").name
    'mrr'
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
            names = (*FAMILIES, *_ALIASES, *(each.name for each in _SINGLE))
            same = next((each for each in names if each != stem and each.lower() == stem.lower()), None)
            if same is not None:  # in other capitals, such as MRR
                return metric(f"{same}@{k}" if k else same)
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
