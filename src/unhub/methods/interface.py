"""What a method is: facts on its class, hyper-parameters as its fields, and one of three verbs.

- additive: ``estimate(banks)`` gives a bias that serves everywhere; ``bias_of`` finds it for unseen targets;
- by row: ``prepare(banks)`` gives a function that corrects blocks of test rows, for evaluation;
- by matrix: ``correct(scores)`` needs the whole matrix of test scores, and is transductive by nature.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, Self, TypeGuard, cast, runtime_checkable

import numpy as np

from unhub.core.bias import Bias, closed_form
from unhub.core.parameters import Strength, Temperature, temperature
from unhub.foundation.types import FloatArray
from unhub.scores import Banks, ScoreSource, in_parts, without

CorrectRows = Callable[[FloatArray], FloatArray]
"""scores of some test queries (query, gallery) to corrected scores of the same shape; the argument stays as it is"""

TAU2_PER_TAU1 = 50.0
"""the ratio of the published temperatures of dualis, 1.0 and 0.02, which it keeps at any other"""


@runtime_checkable
class Method(Protocol):
    """A frozen dataclass with facts on its class; its fields are its hyper-parameters.

    Inherit from it for the facts that most methods share. By itself it has no temperature and reads the bank once.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """the name in tables and pictures"""
    description: ClassVar[str]
    """one sentence"""
    requires: ClassVar[frozenset[str]] = frozenset()
    """what it needs besides the query bank: "cross" (query bank x target bank), "targets" (target bank x gallery)"""
    marginals: ClassVar[frozenset[str]] = frozenset()
    """the weights that it uses: "query_weight", "target_prior" """
    iterative: ClassVar[bool] = False
    """whether it reads the bank in rounds, which a fit can resume"""
    potentials: ClassVar[int] = 0
    """how many numbers its bias comes with for each bank query, which ``bias_of`` needs"""
    softmax: ClassVar[bool] = False
    """whether its bias is a softmax over the bank at one temperature, so that each bank query has a share in it"""
    sparse: ClassVar[bool] = False
    """whether most of its corrected scores are zero, and so tied"""
    live: ClassVar[bool] = True
    """whether it is fast enough for the page, which computes while a person waits"""
    audit: ClassVar[bool] = False
    """whether it is for comparison only, not for use"""
    constants: ClassVar[Mapping[str, Any]] = {}
    """the hyper-parameters of the paper, where they differ from the defaults"""

    @property
    def temperature(self) -> Temperature | None:
        """The temperature, the main one if there are two; None for a method without."""
        return None

    @property
    def rounds(self) -> int | None:
        """How many rounds it takes at the most; None for a method that reads the bank once."""
        return None

    def at(self, tau: Temperature) -> Self:
        """The method at this temperature; itself if it has none."""
        return self

    def reads(self, scores: ScoreSource) -> ScoreSource:
        """The scores of past queries as the method reads them; as they are unless it says otherwise."""
        return scores

    @classmethod
    def paper(cls) -> Self:
        """The method with the constants of its paper, at strength 1."""
        names = [each.name for each in dataclasses.fields(cast(Any, cls))]
        fixed = {"strength": 1.0} if "strength" in names else {}
        return cls(**cls.constants, **fixed)


class OneTemperature(Method):
    """A method whose temperature is its field ``tau``."""

    tau: Temperature

    @property
    def temperature(self) -> Temperature | None:
        """tau"""
        return self.tau

    def at(self, tau: Temperature) -> Self:
        """The method with this tau."""
        return cast(Self, dataclasses.replace(cast(Any, self), tau=tau))


class TwoTemperatures(Method):
    """A method with ``tau1`` for the query bank, its main temperature, and ``tau2`` for the target bank."""

    tau1: Temperature
    tau2: Temperature

    @property
    def temperature(self) -> Temperature | None:
        """tau1"""
        return self.tau1

    def at(self, tau: Temperature) -> Self:
        """The method with this tau1, and tau2 in the published ratio to it."""
        tau = temperature("tau", tau)
        tau2 = tau if isinstance(tau, str) else TAU2_PER_TAU1 * tau
        return cast(Self, dataclasses.replace(cast(Any, self), tau1=tau, tau2=tau2))


@runtime_checkable
class AdditiveMethod(Method, Protocol):
    """A method that is a bias."""

    @property
    def strength(self) -> Strength:
        """What the bias is multiplied by, or "auto"; a field of every additive method."""

    def estimate(self, banks: Banks) -> Bias:
        """The bias of every target of the gallery."""

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """The bias, before centring, of any targets, from the bank and its saved potentials alone."""


@runtime_checkable
class RowMethod(Method, Protocol):
    """A method that corrects each test row on its own, given the bank."""

    def prepare(self, banks: Banks) -> CorrectRows:
        """A function of score rows, with what it needs of the bank."""


@runtime_checkable
class MatrixMethod(Method, Protocol):
    """A method that needs all test queries at once."""

    def correct(self, scores: FloatArray) -> Corrected:
        """The corrected matrix (query, gallery), and what to know about it."""


@dataclasses.dataclass(frozen=True)
class Corrected:
    """A corrected matrix (query, gallery); notes: sentences that its user should read."""

    scores: FloatArray
    notes: tuple[str, ...] = ()


class ClosedForm:
    """For additive methods without rounds: the estimate is ``bias_of`` the gallery, centred."""

    def estimate(self: AdditiveMethod, banks: Banks) -> Bias:
        """The bias, and those without each part that is held out, from one read of each bank; more with weights."""
        if not banks.held_out:
            return closed_form(self.bias_of(banks, None))
        if banks.query_weight is None:
            whole, others = in_parts(banks)
        else:
            whole, others = banks, [without(banks, rows) for rows in banks.held_out]
        bias = closed_form(self.bias_of(whole, None))
        parts = tuple(closed_form(self.bias_of(each, None)).values.astype(np.float32) for each in others)
        return dataclasses.replace(bias, held_out=parts)


def is_additive(method: Method | type[Method]) -> TypeGuard[AdditiveMethod]:
    """Whether a method, or the class of one, is a bias."""
    return hasattr(method, "estimate")


def is_matrix_only(method: Method | type[Method]) -> TypeGuard[MatrixMethod]:
    """Whether a method, or the class of one, needs the whole matrix of test scores."""
    return hasattr(method, "correct")
