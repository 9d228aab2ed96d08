"""What a method is: one of three small contracts, told apart by the verb it has.

- additive: ``estimate(banks)`` gives a bias that serves everywhere; ``columns`` finds it for unseen targets;
- by row: ``prepare(banks)`` gives a function that corrects blocks of test rows, for evaluation;
- by matrix: ``correct(scores)`` needs the whole matrix of test scores, and is transductive by nature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeGuard, runtime_checkable

from unhub.banks import Banks
from unhub.core.bias import Bias
from unhub.foundation.types import FloatArray

CorrectRows = Callable[[FloatArray], FloatArray]
"""scores of some test queries (query, gallery) to corrected scores of the same shape; the argument stays as it is"""


@runtime_checkable
class Method(Protocol):
    """A frozen dataclass with a name; its fields are its hyper-parameters."""

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    """what it cannot do without besides the query bank: "cross" (query bank x target bank), "targets"
    (target bank x gallery)"""
    weighs: ClassVar[frozenset[str]]
    """the marginals that mean something to it: "query_weight", "target_prior" """


@runtime_checkable
class AdditiveMethod(Method, Protocol):
    """A method that is a bias."""

    strength: float

    def estimate(self, banks: Banks) -> Bias:
        """The bias of every target of the gallery."""

    def columns(self, banks: Banks, potentials: FloatArray | None) -> FloatArray:
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


def is_additive(method: Method) -> TypeGuard[AdditiveMethod]:
    """Whether the method is a bias."""
    return hasattr(method, "estimate")


def is_matrix_only(method: Method) -> TypeGuard[MatrixMethod]:
    """Whether the method needs the whole matrix of test scores."""
    return hasattr(method, "correct")
