"""Methods by name, and their hyper-parameters by name."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, cast

from unhub.core.parameters import Temperature, strength_number
from unhub.foundation.errors import InputError
from unhub.methods.centering import Centering
from unhub.methods.csls import CSLS
from unhub.methods.dbsn import DBSN
from unhub.methods.dis import DIS
from unhub.methods.dis_paper import DISPaper
from unhub.methods.dn import DN
from unhub.methods.dsl import DSL
from unhub.methods.dualdis import DualDIS
from unhub.methods.dualis import DualIS
from unhub.methods.gc import GC
from unhub.methods.hn import HN
from unhub.methods.inverted_softmax import IS
from unhub.methods.l2n import L2N
from unhub.methods.local_scaling import LocalScaling
from unhub.methods.mutual_proximity import MutualProximity
from unhub.methods.nicdm import NICDM
from unhub.methods.nnn import NNN
from unhub.methods.none import NoCorrection
from unhub.methods.otn import OTN
from unhub.methods.protocol import AdditiveMethod, Method, is_additive
from unhub.methods.single_sinkhorn import SingleSinkhorn
from unhub.methods.sn import ITERATIONS, MOST_ITERATIONS, SN
from unhub.methods.sparse_k import SparseK

_CLASSES: tuple[type[Any], ...] = (
    NoCorrection, IS, DIS, DISPaper, DualIS, DualDIS, SN, DBSN, NNN, CSLS, GC, DSL, DN, SingleSinkhorn,
    LocalScaling, NICDM, MutualProximity, Centering, OTN, L2N, HN, SparseK,
)  # fmt: skip

REGISTRY: Mapping[str, type[Any]] = {each.name: each for each in _CLASSES}
"""name -> class"""

METHODS: tuple[str, ...] = tuple(REGISTRY)
"""the name of every method"""

ADDITIVE: tuple[str, ...] = tuple(name for name, each in REGISTRY.items() if hasattr(each, "estimate"))
"""the names of the methods that are a bias and can be fitted, served and exported"""

TAU2_PER_TAU1 = 50.0
"""dualis keeps the ratio of its published temperatures (1.0 and 0.02) when they follow the spread"""


class HyperParameters(TypedDict, total=False):
    """What can be given by name; each method takes those that it has."""

    tau: Temperature
    tau1: Temperature
    tau2: Temperature
    iterations: int | None
    tol: float | None
    strength: float
    k: int
    alpha: float
    w: float
    gamma: float
    reg: float


def method(which: str | Method, given: HyperParameters | None = None) -> Method:
    """The method of that name with these hyper-parameters; an object passes with the given ones replaced.

    None leaves a hyper-parameter as it is.
    """
    found = _lookup(which)
    given = _told(given)
    unknown = [key for key in given if key not in _fields(found)]
    if unknown:
        has = ", ".join(_fields(found)) or "no hyper-parameters"
        raise InputError(f"{found.name} has no hyper-parameter {unknown[0]!r}; it has {has}.")
    return _replaced(found, given)


def methods(which: Iterable[str | Method], given: HyperParameters | None = None) -> tuple[Method, ...]:
    """Several methods; a hyper-parameter reaches every one that has it and must reach at least one."""
    found = [_lookup(each) for each in which]
    if not found:
        raise InputError(f"methods is empty; name at least one of: {', '.join(METHODS)}.")
    given = _told(given)
    for key in given:
        if not any(key in _fields(each) or each.name == "none" for each in found):
            names = ", ".join(each.name for each in found)
            raise InputError(f"no method of {names} has the hyper-parameter {key!r}.")
    return tuple(_replaced(each, given) for each in found)


def additive(which: Method) -> AdditiveMethod:
    """The method, if it is a bias; otherwise an error that says which ones are."""
    if not is_additive(which):
        raise InputError(
            f"{which.name} is not a bias and cannot be fitted, served or exported; it exists for evaluation "
            f"(unhub.evaluate, unhub.normalize). Methods that are a bias: {', '.join(ADDITIVE)}."
        )
    strength_number("strength", which.strength)  # a method that was registered may not look at its own
    return which


def settle(which: Method, tau: float) -> Method:
    """The method with "auto" replaced by the temperature that suits the scores, and the number of rounds settled."""
    values: dict[str, object] = {
        name: tau * (TAU2_PER_TAU1 if name == "tau2" else 1.0)
        for name, value in settings(which).items()
        if value == "auto"
    }
    if "iterations" in _fields(which) and getattr(which, "iterations", None) is None:
        values["iterations"] = ITERATIONS if getattr(which, "tol", None) is None else MOST_ITERATIONS
    return cast(Method, dataclasses.replace(cast(Any, which), **values))


def settings(which: Method) -> dict[str, Any]:
    """The hyper-parameters of a method as plain data."""
    return dataclasses.asdict(cast(Any, which))


def _lookup(which: str | Method) -> Method:
    if not isinstance(which, str):
        if isinstance(which, Method) and dataclasses.is_dataclass(which) and not isinstance(which, type):
            return which
        raise InputError(f"a method is a name or an object such as unhub.methods.SN(tau=0.02); got {which!r}.")
    if which not in REGISTRY:
        close = difflib.get_close_matches(which.lower(), METHODS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InputError(f"there is no method {which!r}; there are {', '.join(METHODS)}.{hint}")
    return cast(Method, REGISTRY[which]())


def _fields(which: Method) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cast(Any, which)))


def _told(given: HyperParameters | None) -> HyperParameters:
    return cast(HyperParameters, {key: value for key, value in (given or {}).items() if value is not None})


def _replaced(which: Method, given: HyperParameters) -> Method:
    chosen = {key: value for key, value in given.items() if key in _fields(which)}
    return cast(Method, dataclasses.replace(cast(Any, which), **chosen))
