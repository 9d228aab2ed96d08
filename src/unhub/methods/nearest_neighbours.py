"""Corrections by a mean of a target's bank scores: of the k largest (NNN, CSLS, centring), of all (DN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unhub.core.parameters import Strength, count, not_negative, positive, strength, validate
from unhub.foundation.types import FloatArray
from unhub.methods.interface import ClosedForm, CorrectRows, Method
from unhub.scores import Banks, column_means, column_top, columns

BYTES, SLACK = 128, 64
"""bytes for each of the k + SLACK scores of a column, all copies included: a gallery that would need more than the
memory is done in parts"""


@dataclass(frozen=True)
class NNN(ClosedForm, Method):
    """bias_j = -alpha * mean of the k largest s_uj over the bank   [chowdhury:24]"""

    name: ClassVar[str] = "nnn"
    title: ClassVar[str] = "NNN"
    description: ClassVar[str] = "Takes a share of the mean of each target's k best bank scores off its scores."
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight"})

    k: int = 128
    alpha: float = 0.75
    strength: Strength = "auto"

    def __post_init__(self) -> None:
        validate(self, k=count, alpha=not_negative, strength=strength)

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-alpha * mean of the k largest bank scores of any targets; k is clipped to the bank."""
        return -self.alpha * top_mean(banks, self.k)


@dataclass(frozen=True)
class CSLS(ClosedForm, Method):
    """bias_j = -1/2 * mean of the k largest s_uj over the bank   [lample:18]

    The published 2 s_ij - r_i - r_j, halved; the query's own term r_i does not rank.
    """

    name: ClassVar[str] = "csls"
    title: ClassVar[str] = "CSLS"
    description: ClassVar[str] = "Takes half the mean of each target's k best bank scores off its scores."
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight"})

    k: int = 10
    strength: Strength = "auto"

    def __post_init__(self) -> None:
        validate(self, k=count, strength=strength)

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-1/2 * mean of the k largest bank scores of any targets; k is clipped to the bank."""
        return -0.5 * top_mean(banks, self.k)


@dataclass(frozen=True)
class Centering(Method):
    """s_ij - affinity_j^gamma, affinity_j the mean of the k largest s_uj over the bank   [hara:15]

    A negative affinity keeps its sign. With gamma = 1 this ranks as ``nnn`` with alpha = 1, which can also be served.
    """

    name: ClassVar[str] = "centering"
    title: ClassVar[str] = "centering"
    description: ClassVar[str] = "Takes a power of each target's local affinity to the bank off its scores."
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight"})

    k: int = 10
    gamma: float = 1.0

    def __post_init__(self) -> None:
        validate(self, k=count, gamma=positive)

    def prepare(self, banks: Banks) -> CorrectRows:
        """Rows with each target's local affinity taken out."""
        affinity = top_mean(banks, self.k)
        centre = np.sign(affinity) * np.abs(affinity) ** self.gamma
        return lambda scores: scores - centre


@dataclass(frozen=True)
class DN(ClosedForm, Method):
    """bias_j = -w * mean_u s_uj   [zhou:23]

    The query side of the published form, -w * mean over targets of s_iv, does not rank.
    """

    name: ClassVar[str] = "dn"
    title: ClassVar[str] = "DN"
    description: ClassVar[str] = "Takes a share of each target's mean bank score off its scores."
    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight"})

    w: float = 0.5
    strength: Strength = "auto"

    def __post_init__(self) -> None:
        validate(self, w=not_negative, strength=strength)

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """-w * mean bank score of any targets."""
        return -self.w * column_means(banks.queries, banks.query_weight, banks.execution)


def top_mean(banks: Banks, k: int) -> FloatArray:
    """Mean of the k largest bank scores of each target, weighted by the query weights: (gallery,) float64."""
    gallery = banks.queries.shape[1]
    width = max(1, banks.execution.bytes // (BYTES * (k + SLACK)))
    means = np.empty(gallery)
    for left in range(0, gallery, width):
        right = min(left + width, gallery)
        scores, weights = column_top(columns(banks.queries, left, right), k, banks.query_weight, banks.execution)
        means[left:right] = np.einsum("kj,kj->j", scores, weights) / weights.sum(axis=0)
    return means
