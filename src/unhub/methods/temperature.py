"""Temperatures that suit the scores: resolve "auto", refuse the impossible, note the unlikely."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.wording import setting
from unhub.methods.interface import Method
from unhub.scores import ScoreSource, Spread
from unhub.scores import spread as spread_of

SHARPEST, SOFTEST = 0.15, 1.0
"""tau over the standard deviation of the scores; outside this range gains turned into losses"""

COSINE_LIMIT = 1.5
"""scores beyond this are not cosines, whatever the rounding"""

TAU_AT_FIXED_STRENGTH = 1 / 2
"""tau="auto" over the standard deviation of the scores, where a strength is given"""

RESOLUTION = 4 * float(np.finfo(np.float32).eps)
"""tau below this share of the largest score is finer than float32 scores are"""


@dataclass(frozen=True)
class ResolvedMethod:
    """A method whose temperatures and rounds are numbers, with notes about them."""

    method: Method
    notes: tuple[str, ...] = ()


def resolve(method: Method, source: ScoreSource, spread: Spread | None = None) -> ResolvedMethod:
    """The method with "auto" replaced by what suits the scores.

    method: any method.
    source: the scores of the bank (bank, gallery), sampled for their spread.
    spread: their spread, if it was measured before.

    Returns the resolved method, with a note for a temperature that hardly suits the scores and for a method that is for
    audit only. A temperature finer than float32 scores is an error.
    """
    notes: tuple[str, ...] = (f"{method.name} is for audit only. {method.description}",) if method.audit else ()
    if method.temperature is None:
        return ResolvedMethod(fill_auto(method, 1.0), notes)
    spread = spread_of(source) if spread is None else spread
    resolved = fill_auto(method, auto_temperature(spread, fixed=_has_strength(method)))
    for name in _temperatures(method):
        _refuse_finer_than_scores(name, float(getattr(resolved, name)), spread)
    if method.temperature != "auto":
        notes += _unsuited(resolved, spread)
    return ResolvedMethod(resolved, notes)


def auto_temperature(spread: Spread, *, fixed: bool = False) -> float:
    """What "auto" means: a third of the standard deviation of the scores, if they have one.

    fixed: for a strength that was given, which nobody fits to the queries: then a half, which is safer.
    """
    if spread.std <= RESOLUTION * spread.largest:
        return max(spread.largest, 1.0) / 100
    return spread.std * TAU_AT_FIXED_STRENGTH if fixed else spread.tau


def _has_strength(method: Method) -> bool:
    return not isinstance(getattr(method, "strength", "auto"), str)


def fill_auto(method: Method, tau: float) -> Method:
    """The method with tau in place of every "auto", and its rounds as a number."""
    suited = method.at(tau)
    fields = [field.name for field in dataclasses.fields(cast(Any, method))]
    values = {name: getattr(suited, name) for name in fields if getattr(method, name) == "auto"}
    if "iterations" in fields and method.rounds is not None:
        values["iterations"] = method.rounds
    return cast(Method, dataclasses.replace(cast(Any, method), **values))


def _temperatures(method: Method) -> list[str]:
    """The fields that hold a temperature, the main one first: those that ``at`` sets."""
    one, two = method.at(1.0), method.at(2.0)
    names = [each.name for each in dataclasses.fields(cast(Any, method))]
    return [name for name in names if getattr(one, name) != getattr(two, name)]


def _refuse_finer_than_scores(name: str, value: float, spread: Spread) -> None:
    finest = RESOLUTION * spread.largest
    if value < finest:
        raise InputError(
            name,
            f"is {value:g}, but float32 scores up to {spread.largest:.3g} cannot be told apart below {finest:.1g}",
            f"pass a larger one, or {setting(name, 'auto')}, which is about {spread.tau:.2g} here",
        )


def _unsuited(method: Method, spread: Spread) -> tuple[str, ...]:
    name, value = _temperatures(method)[0], float(cast(float, method.temperature))
    if spread.std == 0 or SHARPEST <= value / spread.std <= SOFTEST:
        return ()
    kind = "sharp" if value < spread.std else "soft"
    return (
        f"{name} = {value:g} of {method.name} is {kind} for scores with a standard deviation of {spread.std:.2g}; "
        f"auto would be {auto_temperature(spread, fixed=_has_strength(method)):.2g}.",
    )
