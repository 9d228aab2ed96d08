"""Whether a class can be a method, and whether values from a file fit it."""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from unhub.foundation.safe_text import short_repr

NAME = r"[a-z][a-z0-9_]{0,39}"
"""of a method"""
_PLAIN = (bool, int, float, str, type(None))
_RESERVED = ("all", "saved")
"""words of commands and the page: every method, and a correction as it was saved"""
_FACTS = {
    "title": str, "description": str, "requires": frozenset, "marginals": frozenset, "iterative": bool,
    "potentials": int, "softmax": bool, "sparse": bool, "live": bool, "audit": bool,
}  # fmt: skip
_VERBS = ("estimate", "prepare", "correct")
_KNOWN = {"requires": {"cross", "targets"}, "marginals": {"query_weight", "target_prior"}}


def check_values(cls: type[Any], values: Mapping[str, Any]) -> None:
    """Raises ValueError unless every value is of the type that the class declares for it."""
    hints = _hints(cls)
    for key, value in values.items():
        if key not in hints:
            raise ValueError(f"{cls.name} has no hyper-parameter {key[:40]!r}")
        if not _fits(value, hints[key]):
            raise ValueError(f"its {key} is {short_repr(value)}")


def fields_of(which: Any) -> tuple[str, ...]:
    """The names of the hyper-parameters of a method, or of its class."""
    return tuple(field.name for field in dataclasses.fields(which))


def _hints(cls: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {name: hints[name] for name in fields_of(cls)}


def _fits(value: Any, hint: Any) -> bool:
    """Whether a plain value has a declared type; a whole number is also a float, and no number is infinite."""
    if get_origin(hint) in (Union, types.UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is hint


def _is_plain(hint: Any) -> bool:
    if get_origin(hint) in (Union, types.UnionType):
        return all(_is_plain(each) for each in get_args(hint))
    return hint in _PLAIN or get_origin(hint) is Literal


def fault(cls: Any) -> str | None:
    """Why a class cannot be a method, or None."""
    if not isinstance(cls, type) or not getattr(getattr(cls, "__dataclass_params__", None), "frozen", False):
        return "a method is a frozen dataclass; put @dataclass(frozen=True) above the class"
    name = getattr(cls, "name", None)
    if not isinstance(name, str) or re.fullmatch(NAME, name) is None or name in _RESERVED:
        return f"its name is {short_repr(name)}; give it a name of lower-case letters, digits and underscores"
    for fact, kind in _FACTS.items():
        if not isinstance(getattr(cls, fact, None), kind):
            return f"it has no {fact} ({kind.__name__}); set it on the class or inherit unhub.methods.Method"
    for fact, known in _KNOWN.items():
        if not getattr(cls, fact) <= known:
            return f"its {fact} holds {sorted(getattr(cls, fact) - known)[0]!r}; there are {', '.join(sorted(known))}"
    if sum(hasattr(cls, verb) for verb in _VERBS) != 1:
        return f"it needs one verb of {', '.join(_VERBS)}"
    if not all(hasattr(cls, each) for each in ("at", "temperature", "rounds", "paper")):
        return "it does not say how it takes a temperature; inherit unhub.methods.Method or OneTemperature"
    if hasattr(cls, "estimate") and not (hasattr(cls, "bias_of") and "strength" in fields_of(cls)):
        return "a method that estimates a bias also needs bias_of and a field strength"
    return _fault_of_fields(cls)


def _fault_of_fields(cls: type[Any]) -> str | None:
    try:
        hints = _hints(cls)
    except (NameError, TypeError) as error:
        return f"the types of its fields cannot be read ({error})"
    for field in dataclasses.fields(cls):
        if field.default is dataclasses.MISSING:
            return f"its hyper-parameter {field.name} has no default"
        if not _is_plain(hints[field.name]):
            return f"its hyper-parameter {field.name} is not a plain number, text, switch or None"
    return None
