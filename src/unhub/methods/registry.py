"""Methods by name, and their hyper-parameters by name."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, TypedDict, TypeVar, cast

from unhub.core.parameters import Strength, Temperature, strength
from unhub.foundation.errors import InputError
from unhub.foundation.facade import facade
from unhub.foundation.optional import load_plugin, plugins
from unhub.foundation.safe_text import short_repr
from unhub.foundation.wording import argument
from unhub.methods.global_correction import GC
from unhub.methods.interface import AdditiveMethod, Method, is_additive
from unhub.methods.inverted_softmax import DIS, DSL, IS, DISPaper, DualDIS, DualIS
from unhub.methods.local_scaling import NICDM, LocalScaling, MutualProximity
from unhub.methods.nearest_neighbours import CSLS, DN, NNN, Centering
from unhub.methods.none import NoCorrection
from unhub.methods.single_sinkhorn import SingleSinkhorn
from unhub.methods.sn_dbsn import DBSN, SN, CappedSN
from unhub.methods.transport_plans import HN, L2N, OTN, SparseK
from unhub.methods.validation import NAME, check_values, fault, fields_of

GROUP = "unhub.methods"
"""entry points of this group offer methods, by their names"""

_BUILT_IN: tuple[type[Any], ...] = (
    NoCorrection, IS, DIS, DISPaper, DualIS, DualDIS, SN, CappedSN, DBSN, NNN, CSLS, GC, DSL, DN, SingleSinkhorn,
    LocalScaling, NICDM, MutualProximity, Centering, OTN, L2N, HN, SparseK,
)  # fmt: skip
for _each in _BUILT_IN:
    _each.__init__ = facade(_each.__init__)  # a mistyped hyper-parameter is answered

METHODS: tuple[str, ...] = tuple(each.name for each in _BUILT_IN)
"""the name of every method that unhub brings"""

ADDITIVE: tuple[str, ...] = tuple(each.name for each in _BUILT_IN if is_additive(each))
"""the names of those that are a bias and can be fitted, served and exported"""

_REGISTERED: dict[str, type[Any]] = {each.name: each for each in _BUILT_IN}
C = TypeVar("C", bound=type[Any])


class HyperParameters(TypedDict, total=False):
    """Hyper-parameters by name; each method takes those that it has."""

    tau: Temperature
    tau1: Temperature
    tau2: Temperature
    iterations: int | None
    tol: float | None
    strength: Strength
    k: int
    alpha: float
    w: float
    gamma: float
    reg: float


def hyper_parameters() -> list[str]:
    """The names of the hyper-parameters of all methods, those of other packages included."""
    named = [name for each in method_classes().values() for name in fields_of(each)]
    return list(dict.fromkeys((*HyperParameters.__annotations__, *named)))


class UnknownMethodError(InputError):
    """There is no method of that name."""


def register_method(cls: C) -> C:
    """Adds a method, so that every function and command knows it by its name; usable as a decorator.

    cls: a frozen dataclass with ``name``, ``title`` and ``description``, all hyper-parameters with defaults, and one of
    the verbs ``estimate`` (with ``bias_of`` and a field ``strength``), ``prepare`` or ``correct``. Inherit the other
    facts from ``unhub.methods.Method``, ``OneTemperature`` (a field ``tau``) or ``TwoTemperatures``.

    Returns the class. A package offers its methods to everyone by entry points of the group "unhub.methods" instead.
    """
    _check(cls)
    _REGISTERED[cls.name] = cls
    return cls


def method_names(*, additive: bool = False) -> tuple[str, ...]:
    """The names of all methods, registered and installed ones too; additive: those alone that are a bias."""
    if additive:
        return tuple(name for name, each in method_classes().items() if is_additive(each))
    return tuple(dict.fromkeys((*_REGISTERED, *plugins(GROUP))))


def method_classes() -> dict[str, type[Method]]:
    """The class of every method by name; without those of installed packages that cannot be imported."""
    classes = {}
    for name in method_names():
        with suppress(InputError):
            classes[name] = method_class(name)
    return classes


def method_class(name: str) -> type[Method]:
    """The class of a method: unhub's own, one that was registered, or one that an installed package offers."""
    if name not in _REGISTERED:
        cls = load_plugin(GROUP, name)
        if cls is None:
            names = method_names()
            close = difflib.get_close_matches(name.lower(), names, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise UnknownMethodError(f"there is no method {name!r}; there are {', '.join(names)}.{hint}")
        if getattr(cls, "name", None) != name:
            raise InputError(f"the entry point {name!r} of {GROUP} gives {short_repr(cls)}, whose name is another.")
        register_method(cls)
    return cast("type[Method]", _REGISTERED[name])


def title_of(name: str) -> str:
    """What tables and pages call a method; an unknown name is its own title.

    >>> title_of("dbsn"), title_of("none"), title_of("sn(tau=0.02)")
    ('DBSN', 'no correction', 'sn(tau=0.02)')
    """
    try:
        return method_class(name).title
    except UnknownMethodError:
        return name


def method(which: str | Method, hyper_parameters: HyperParameters | None = None) -> Method:
    """The method of that name, or the object, with these hyper-parameters.

    tau reaches a method with two temperatures as ``at`` says. None leaves a hyper-parameter as it is.
    """
    chosen = _lookup(which)
    for key in hyper_parameters or {}:
        if not _takes(chosen, key):
            has = ", ".join(fields_of(chosen)) or "no hyper-parameters"
            raise InputError(
                f"{chosen.name} has no hyper-parameter {argument(key)}; it has {has}.{_meant(key, [chosen])}"
            )
    return configure(chosen, cast(Any, hyper_parameters))


def methods(which: Iterable[str | Method], hyper_parameters: HyperParameters | None = None) -> tuple[Method, ...]:
    """Several methods; a hyper-parameter reaches every one that has it, and must reach at least one."""
    chosen = [_lookup(each) for each in which]
    if not chosen:
        raise InputError("methods", "is empty", f"name at least one of {', '.join(method_names())}")
    baseline = any(each.name == "none" for each in chosen)  # takes none of them, but may be compared with any
    for key in hyper_parameters or {}:
        if not (any(_takes(each, key) for each in chosen) or (baseline and key in HyperParameters.__annotations__)):
            names = ", ".join(each.name for each in chosen)
            raise InputError(f"no method of {names} has the hyper-parameter {argument(key)}.{_meant(key, chosen)}")
    return tuple(configure(each, cast(Any, hyper_parameters)) for each in chosen)


def configure(which: Method, hyper_parameters: Mapping[str, Any] | None) -> Method:
    """The method with those of these hyper-parameters that it has; None leaves one as it is."""
    values = {key: value for key, value in (hyper_parameters or {}).items() if value is not None}
    fields = fields_of(which)
    if "tau" in values and "tau" not in fields:
        which = which.at(values["tau"])
    chosen = {key: value for key, value in values.items() if key in fields}
    return cast(Method, dataclasses.replace(cast(Any, which), **chosen))


def additive(which: Method) -> AdditiveMethod:
    """The method, if it is a bias; otherwise an error that says which ones are."""
    if not is_additive(which):
        raise InputError(
            f"{which.name} is not a bias and cannot be fitted, served or exported; it exists for evaluation "
            f"(unhub.evaluate, unhub.normalize). Methods that are a bias: {', '.join(method_names(additive=True))}."
        )
    strength("strength", which.strength)  # a registered method may not check its own
    return which


def settings(which: Method) -> dict[str, Any]:
    """The hyper-parameters of a method as plain data."""
    return dataclasses.asdict(cast(Any, which))


def stored_method(name: str, values: Mapping[str, Any]) -> Method:
    """The method that a file names; ValueError unless every value is of the type that the class declares.

    An unknown name is an UnknownMethodError. The file holds a name and plain values, and nothing in it is imported: a
    method comes from unhub, from ``register_method``, or from an installed package.
    """
    if re.fullmatch(NAME, name) is None:
        raise ValueError("its method has no name")
    cls = method_class(name)
    check_values(cls, values)
    return cls(**values)


def _takes(which: Method, key: str) -> bool:
    return key in fields_of(which) or (key == "tau" and which.temperature is not None)


def _meant(key: str, chosen: Iterable[Method]) -> str:
    """A question that names the closest hyper-parameter."""
    names = [name for each in chosen for name in ("tau", *fields_of(each)) if _takes(each, name)]
    close = difflib.get_close_matches(key, names, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _lookup(which: str | Method) -> Method:
    if isinstance(which, str):
        return method_class(which)()
    if isinstance(which, type) or not dataclasses.is_dataclass(which):
        raise InputError(f"a method is a name or an object such as unhub.methods.SN(tau=0.02); got {which!r}.")
    _check(type(which))
    return which


def _check(cls: type[Any]) -> None:
    """Refuses a class that is not a method, or that has the name of another one."""
    wrong = fault(cls)
    if wrong is not None:
        raise InputError(f"{getattr(cls, '__name__', short_repr(cls))} is not a method: {wrong}.")
    there = _REGISTERED.get(cls.name, cls)
    if there is not cls and (cls.name in METHODS or _place(there) != _place(cls)):
        raise InputError(f"there is a method {cls.name!r} already ({_place(there)}); choose another name.")


def _place(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
