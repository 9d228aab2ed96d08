"""What a method is: facts on its class, hyper-parameters as its fields, and one of three verbs.

- additive: ``estimate(banks)`` gives a bias that serves everywhere; ``bias_of`` finds it for unseen targets;
- by row: ``prepare(banks)`` gives a function that corrects blocks of test rows, for evaluation;
- by matrix: ``correct(scores)`` needs the whole matrix of test scores, and is transductive by nature.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, Self, TypeGuard, cast, runtime_checkable

from unhub.core.bias import Bias
from unhub.core.parameters import Temperature, temperature
from unhub.foundation.types import FloatArray
from unhub.scores import Banks

CorrectRows = Callable[[FloatArray], FloatArray]
"""scores of some test queries (query, gallery) to corrected scores of the same shape; the argument stays as it is"""

TAU2_PER_TAU1 = 50.0
"""the ratio of the published temperatures of dualis, 1.0 and 0.02, which it keeps at any other"""


@runtime_checkable
class Method(Protocol):
    """A frozen dataclass with facts on its class; its fields are its hyper-parameters."""

    name: ClassVar[str]
    title: ClassVar[str]
    """the name in tables and pictures"""
    description: ClassVar[str]
    """one sentence"""
    requires: ClassVar[frozenset[str]]
    """what it cannot do without besides the query bank: "cross" (query bank x target bank), "targets" (target bank x
    gallery)"""
    marginals: ClassVar[frozenset[str]]
    """the weights that it uses: "query_weight", "target_prior" """
    iterative: ClassVar[bool]
    """whether it reads the bank in rounds, which a fit can resume"""
    potentials: ClassVar[bool]
    """whether its bias comes with a potential for each bank query, which ``bias_of`` needs"""
    softmax: ClassVar[bool]
    """whether its bias is a softmax over the bank at one temperature, so that each bank query has a share in it"""
    live: ClassVar[bool]
    """whether it is fast enough for a page that computes while somebody waits"""
    audit: ClassVar[bool]
    """whether it is kept for comparison alone, not for use"""

    @property
    def temperature(self) -> Temperature | None:
        """The temperature, the main one where there are two; None for a method without."""

    @property
    def rounds(self) -> int | None:
        """How many rounds it takes at the most; None for a method that reads the bank once."""

    def at(self, tau: Temperature) -> Self:
        """The method at this temperature; itself where it has none."""

    @classmethod
    def paper(cls) -> Self:
        """The method with the constants of its paper."""


class MethodDefaults:
    """Facts that most methods share, for a method without a temperature; a method's class overrides its own."""

    requires: ClassVar[frozenset[str]] = frozenset()
    marginals: ClassVar[frozenset[str]] = frozenset()
    iterative: ClassVar[bool] = False
    potentials: ClassVar[bool] = False
    softmax: ClassVar[bool] = False
    live: ClassVar[bool] = True
    audit: ClassVar[bool] = False
    constants: ClassVar[Mapping[str, Any]] = {}
    """the hyper-parameters of the paper, where they differ from the defaults"""

    @property
    def temperature(self) -> Temperature | None:
        """None: it has no temperature."""
        return None

    @property
    def rounds(self) -> int | None:
        """None: it reads the bank once."""
        return None

    def at(self, tau: Temperature) -> Self:
        """The method itself."""
        return self

    @classmethod
    def paper(cls) -> Self:
        """The method with the constants of its paper."""
        return cls(**cls.constants)


class OneTemperature(MethodDefaults):
    """A method whose temperature is its field ``tau``."""

    tau: Temperature

    @property
    def temperature(self) -> Temperature | None:
        """tau"""
        return self.tau

    def at(self, tau: Temperature) -> Self:
        """The method with this tau."""
        return cast(Self, dataclasses.replace(cast(Any, self), tau=tau))


class TwoTemperatures(MethodDefaults):
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

    strength: float

    def estimate(self, banks: Banks) -> Bias:
        """The bias of every target of the gallery."""

    def bias_of(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
        """The bias, before centring, of any targets, from the bank and its saved potentials alone."""


@runtime_checkable
class RowMethod(Method, Protocol):
    """A method that corrects each test row on its own, given the bank."""

    def prepare(self, banks: Banks) -> CorrectRows:
        """What was learnt from the bank, as a function of score rows."""


@runtime_checkable
class MatrixMethod(Method, Protocol):
    """A method that needs all test queries at once."""

    def correct(self, scores: FloatArray) -> FloatArray:
        """The corrected matrix (query, gallery)."""


def is_additive(method: Method | type[Method]) -> TypeGuard[AdditiveMethod]:
    """Whether a method, or the class of one, is a bias."""
    return hasattr(method, "estimate")


def is_matrix_only(method: Method | type[Method]) -> TypeGuard[MatrixMethod]:
    """Whether a method, or the class of one, needs the whole matrix of test scores."""
    return hasattr(method, "correct")
