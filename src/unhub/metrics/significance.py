"""Whether a difference between two methods can be luck: exact McNemar, and Holm over several tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError
from unhub.metrics.bootstrap import paired_values


@dataclass(frozen=True)
class McNemar:
    """How many queries only the first method hit, how many only the second, and the two-sided p-value."""

    only_first: int
    only_second: int
    p_value: float


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """The exact McNemar test of two methods' hits on the same queries: (query,), 0 or 1.

    For instance R@1 per query: ``per_query(ranking, "R@1")``.

    Under the null each query on which they differ is a fair coin, so with b and c such queries
    p = min(1, 2 P[Binomial(b + c, 1/2) <= min(b, c)]); 1.0 where they never differ.

    >>> mcnemar([1, 1, 1, 0], [0, 0, 1, 0])
    McNemar(only_first=2, only_second=0, p_value=0.5)
    """
    from scipy.special import bdtr

    a, b = paired_values(first, second)
    values = np.concatenate((a, b))
    wrong = values[(values != 0) & (values != 1)]
    if wrong.size:
        raise InputError(f"McNemar compares hits and misses, 1 and 0, but a value is {wrong[0]:g}; use R@k per query.")
    only_first, only_second = int(np.sum(a > b)), int(np.sum(b > a))
    fewer, total = min(only_first, only_second), only_first + only_second
    p_value = min(1.0, 2.0 * float(bdtr(fewer, total, 0.5))) if total else 1.0
    return McNemar(only_first, only_second, p_value)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """The p-values adjusted for being several, in the order given: compare each with the level as usual.

    Sorted ascending, p_(i) becomes the largest of (m - j + 1) p_(j) over j <= i, at most 1.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("p_values", f"must be a flat list of numbers between 0 and 1, but came as {p.tolist()}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.arange(p.size, 0, -1) * p[order]))
    return adjusted
