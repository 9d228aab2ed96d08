"""Sinkhorn normalisation (SN), and with a bank of other targets beside the gallery (DBSN)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from unhub.core.arrays import host, namespace
from unhub.core.bias import Bias
from unhub.core.parameters import (
    Strength,
    Temperature,
    as_number,
    optional_count,
    optional_positive,
    strength,
    temperature,
    validate,
)  # fmt: skip
from unhub.foundation.types import FloatArray
from unhub.methods.interface import OneTemperature
from unhub.scores import (
    Banks,
    CappedScores,
    JoinedScores,
    ScoreSource,
    SinkhornOperator,
    blocks,
    column_logsumexp,
    spread,
)  # fmt: skip
from unhub.scores.views import CappedAt
from unhub.solvers.sinkhorn import most_rounds, solve

M = TypeVar("M")


@dataclass(frozen=True)
class Sinkhorn(OneTemperature):
    """What SN and DBSN share: hyper-parameters, rounds, and the last half-step for unseen targets."""

    marginals: ClassVar[frozenset[str]] = frozenset({"query_weight", "target_prior"})
    iterative: ClassVar[bool] = True
    potentials: ClassVar[int] = 1
    softmax: ClassVar[bool] = True
    constants: ClassVar[Mapping[str, Any]] = {"tau": 0.01, "iterations": 10}

    tau: Temperature = "auto"
    iterations: int | None = None
    tol: float | None = None
    strength: Strength = "auto"

    def __post_init__(self) -> None:
        validate(self, tau=temperature, iterations=optional_count, tol=optional_positive, strength=strength)

    @property
    def rounds(self) -> int:
        """How many rounds it takes at the most."""
        return most_rounds(self.iterations, self.tol)

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """tau (log(n b_j) - LSE_u(s_uj / tau + log(n alpha_u))) of any targets: the last half-step, exact.

        alpha holds all that a target bank contributed.
        """
        assert potentials is not None, "Sinkhorn methods save their potentials"
        tau = as_number(self.tau)
        return tau * banks.log_prior() - column_logsumexp(banks.queries, tau, potentials, banks.execution)

    def _balance(self, source: ScoreSource, banks: Banks) -> Bias:
        """The bias of the gallery, the first columns of the source, from Sinkhorn potentials."""
        tau, gallery = as_number(self.tau), banks.queries.shape[1]
        a, b = banks.query_marginal(), banks.target_marginal(extra=source.shape[1] - gallery)
        largest = banks.largest
        if largest is not None and banks.cross is not None and source.shape[1] > gallery:
            largest = max(largest, spread(banks.cross).largest)
        operator = SinkhornOperator(source, tau, a, banks.execution, observer=banks.observer, largest=largest)
        ending: Any = {"iterations": self.iterations, "tol": self.tol, "observer": banks.observer}
        ending["held_out"] = banks.held_out
        return solve(operator, tau=tau, a=a, b=b, gallery=gallery, **ending)


@dataclass(frozen=True)
class SN(Sinkhorn):
    """bias_j = tau log beta_j after T rounds of alpha = a / (xi beta), beta = b / (xi' alpha)   [pan:25, Alg. A1]

    xi = exp(S / tau), a and b uniform unless marginals are given. ``iterations`` is 10; with ``tol`` the rounds stop
    once the row-marginal error is at most tol (and go on to 1,000 unless ``iterations`` says otherwise). With float32
    scores the error does not fall below about 1e-6.
    """

    name: ClassVar[str] = "sn"
    title: ClassVar[str] = "SN"
    description: ClassVar[str] = "Sinkhorn balance of bank queries and targets: each target takes an equal share."

    def estimate(self, banks: Banks) -> Bias:
        """The bias, from one read of the bank if its kernel can be kept, otherwise from one for each round."""
        return self._balance(banks.queries, banks)


@dataclass(frozen=True)
class CappedSN(Sinkhorn):
    """SN after the best score of each bank query is lowered to its second best: s_uj <- min(s_uj, second_u).

    For a log of the gallery's own traffic: what a query is about may be popular, but a hub is what comes up for queries
    that belong elsewhere. Rankings use the scores as they are. The rounds are those of SN   [pan:25, Alg. A1]
    """

    name: ClassVar[str] = "capped_sn"
    title: ClassVar[str] = "capped SN"
    description: ClassVar[str] = "SN without the best target of each bank query, for logs of the gallery's own traffic."
    potentials: ClassVar[int] = 2

    def reads(self, scores: ScoreSource) -> ScoreSource:
        """Each row's best score lowered to its second best."""
        return CappedScores(scores)

    def estimate(self, banks: Banks) -> Bias:
        """The bias; beside the potential of each bank query, its second best score."""
        capped = self.reads(banks.queries)
        bias = self._balance(capped, banks)
        caps = np.concatenate([host(namespace(block).max(block, axis=1)) for _, block in blocks(capped)])
        return replace(bias, potentials=np.stack((cast(FloatArray, bias.potentials), caps)))

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """As SN, with the scores of each bank query capped at its second best score in the gallery."""
        assert potentials is not None, "Sinkhorn methods save their potentials"
        return super().bias_of(replace(banks, queries=CappedAt(banks.queries, potentials[1])), potentials[0])


def for_own_log(method: M) -> M | CappedSN:
    """The method for a log of the gallery's own traffic: SN becomes capped SN, any other stays as it is."""
    return CappedSN(**asdict(cast(Any, method))) if type(method) is SN else method


@dataclass(frozen=True)
class DBSN(Sinkhorn):
    """SN on [S_bt, S_bb], targets and target bank side by side; only the targets' part is kept   [pan:25, Alg. A2]

    With an empty target bank this is SN.
    """

    name: ClassVar[str] = "dbsn"
    title: ClassVar[str] = "DBSN"
    description: ClassVar[str] = "SN with a bank of other targets beside the gallery."
    requires: ClassVar[frozenset[str]] = frozenset({"cross"})

    def estimate(self, banks: Banks) -> Bias:
        """The bias of the gallery, from one read of both banks if their kernel can be kept."""
        assert banks.cross is not None, "callers check Method.requires"
        both = JoinedScores(banks.queries, banks.cross) if banks.cross.shape[1] else banks.queries
        return self._balance(both, banks)
