"""Rules for hyper-parameters: each returns the value as a plain number, or raises an error with what to pass."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Literal

from unhub.foundation.errors import InputError
from unhub.foundation.wording import setting

Temperature = float | Literal["auto"]
"""a positive number in the unit of the scores, or "auto": a third of the scores' standard deviation"""

Strength = float | Literal["auto"]
"""what a bias is multiplied by, or "auto": what queries that it was not fitted on support"""

MOST_STRENGTH = 4.0
"""the largest strength: 1 is the method as published; far beyond, the bias alone decides what ranks first"""

Rule = Callable[[str, Any], Any]


def validate(owner: object, **rules: Rule) -> None:
    """Applies a rule to each of these fields of a frozen dataclass, in its ``__post_init__``."""
    for name, rule in rules.items():
        object.__setattr__(owner, name, rule(name, getattr(owner, name)))


def temperature(name: str, value: Any) -> Temperature:
    """ "auto", or a positive finite number."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    number = _number(value)
    if number is None or number <= 0:
        raise InputError(
            name,
            f"is {value!r}, but a temperature is a positive number in the unit of the scores",
            f"pass {setting(name, 'auto')} to follow their spread, or about a third of their standard deviation",
        )
    return number


def count(name: str, value: Any) -> int:
    """A whole number of at least one."""
    return int(_bounded(name, value, lambda x: x == int(x) and x >= 1, "give a whole number of at least 1"))


def not_negative(name: str, value: Any) -> float:
    """A number of at least zero."""
    return _bounded(name, value, lambda x: x >= 0, "give a number of at least 0")


def positive(name: str, value: Any) -> float:
    """A number above zero."""
    return _bounded(name, value, lambda x: x > 0, "give a number above 0")


def strength(name: str, value: Any) -> Strength:
    """ "auto", or a number from zero, which is no correction, to MOST_STRENGTH."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    return strength_number(name, value, "'auto' or ")


def strength_number(name: str, value: Any, instead: str = "") -> float:
    """A number from zero to MOST_STRENGTH; instead: what else could be given."""
    advice = f"give {instead}a number from 0 (no correction) to {MOST_STRENGTH:g} (1 is the bias as it is)"
    return _bounded(name, value, lambda x: 0 <= x <= MOST_STRENGTH, advice)


def optional_count(name: str, value: Any) -> int | None:
    """A whole number of at least one, or None for "not given"."""
    return None if value is None else count(name, value)


def optional_positive(name: str, value: Any) -> float | None:
    """A number above zero, or None for "not given"."""
    return None if value is None else positive(name, value)


def seed_number(name: str, value: Any) -> int:
    """A whole number of at least zero."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise InputError(name, f"is {value!r}", "give a whole number of at least 0")
    return number


def as_number(value: Temperature) -> float:
    """The temperature as a number; callers replace "auto" before any estimate."""
    assert value != "auto", "a temperature must be resolved before it is used"
    return float(value)


def _bounded(name: str, value: Any, holds: Callable[[float], bool], advice: str) -> float:
    number = _number(value)
    if number is None or not holds(number):
        raise InputError(name, f"is {value!r}", advice)
    return number


def _number(value: Any) -> float | None:
    """A finite Python float, or None for anything that is not one number."""
    if isinstance(value, bool | str | bytes | bytearray):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
