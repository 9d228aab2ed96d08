"""Checks of hyper-parameters, each with the sentence that says what to pass instead."""

from __future__ import annotations

import math
from typing import Literal

from unhub.foundation.errors import InputError

Temperature = float | Literal["auto"]
"""a positive number in the unit of the scores, or "auto": a third of the scores' standard deviation"""


def check_temperature(name: str, value: Temperature) -> None:
    """Refuses a temperature that is not "auto" or a positive finite number."""
    if value == "auto":
        return
    if isinstance(value, str) or not math.isfinite(value) or value <= 0:
        raise InputError(
            f"{name} is {value!r}, but a temperature is a positive number in the unit of the scores; "
            f'pass {name}="auto" to follow their spread, or about a third of their standard deviation.'
        )


def check_count(name: str, value: int | None) -> None:
    """Refuses a count that is not a whole number of at least one; None stands for "not given"."""
    if value is not None and (int(value) != value or value < 1):
        raise InputError(f"{name} is {value!r}; give a whole number of at least 1.")


def check_not_negative(name: str, value: float) -> None:
    """Refuses a number below zero, and what is not a number."""
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{name} is {value!r}; give a number of at least 0.")


def check_positive(name: str, value: float | None) -> None:
    """Refuses a number that is not above zero; None stands for "not given"."""
    if value is not None and (not math.isfinite(value) or value <= 0):
        raise InputError(f"{name} is {value!r}; give a number above 0.")


def settled(value: Temperature) -> float:
    """The temperature as a number; our own callers replace "auto" before any estimate."""
    assert value != "auto", "a temperature must be settled before it is used"
    return float(value)
