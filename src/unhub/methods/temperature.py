"""Whether a temperature suits the scores: settle "auto", refuse the impossible, note the improbable."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.wording import setting
from unhub.methods.protocol import Method
from unhub.scores import ScoreSource, Spread
from unhub.scores import spread as spread_of

SHARPEST, SOFTEST = 0.15, 1.0
"""tau over the standard deviation of the scores outside of which gains were seen to turn into losses"""

COSINE_LIMIT = 1.5
"""scores beyond this are no cosines, whatever the rounding"""

RESOLUTION = 4 * float(np.finfo(np.float32).eps)
"""tau below this share of the largest score is finer than float32 scores are"""


@dataclass(frozen=True)
class ResolvedMethod:
    """A method whose temperatures and rounds are numbers, and what there is to say about them."""

    method: Method
    notes: tuple[str, ...] = ()


def resolve(method: Method, source: ScoreSource, spread: Spread | None = None) -> ResolvedMethod:
    """The method with "auto" replaced by what suits the scores.

    method: any method.
    source: the scores of the bank (bank, gallery), sampled for their spread.
    spread: their spread, where it was measured before.

    Returns the resolved method, with a note for a temperature that hardly suits the scores and for a method that is
    kept for audit alone. A temperature finer than float32 scores is an error.
    """
    notes: tuple[str, ...] = (f"{method.name} is for audit only. {method.description}",) if method.audit else ()
    if method.temperature is None:
        return ResolvedMethod(filled(method, 1.0), notes)
    seen = spread_of(source) if spread is None else spread
    resolved = filled(method, automatic(seen))
    for name in _temperatures(method):
        _refuse_finer_than_scores(name, float(getattr(resolved, name)), seen)
    if method.temperature != "auto":
        notes += _unsuited(resolved, seen)
    return ResolvedMethod(resolved, notes)


def automatic(spread: Spread) -> float:
    """The temperature that "auto" stands for: a third of the standard deviation of the scores, if they have one."""
    return spread.tau if spread.std > RESOLUTION * spread.largest else max(spread.largest, 1.0) / 100


def filled(method: Method, tau: float) -> Method:
    """The method with tau in place of every "auto", and its rounds as a number."""
    suited = method.at(tau)
    fields = [field.name for field in dataclasses.fields(cast(Any, method))]
    values = {name: getattr(suited, name) for name in fields if getattr(method, name) == "auto"}
    if "iterations" in fields and method.rounds is not None:
        values["iterations"] = method.rounds
    return cast(Method, dataclasses.replace(cast(Any, method), **values))


def _temperatures(method: Method) -> list[str]:
    """The fields that hold a temperature, the main one first: those that ``at`` sets."""
    automatic = method.at("auto")
    return [each.name for each in dataclasses.fields(cast(Any, method)) if getattr(automatic, each.name) == "auto"]


def _refuse_finer_than_scores(name: str, value: float, seen: Spread) -> None:
    finest = RESOLUTION * seen.largest
    if value < finest:
        raise InputError(
            name,
            f"is {value:g}, but float32 scores up to {seen.largest:.3g} cannot be told apart below {finest:.1g}",
            f"pass a larger one, or {setting(name, 'auto')}, which is about {seen.tau:.2g} here",
        )


def _unsuited(method: Method, seen: Spread) -> tuple[str, ...]:
    name, value = _temperatures(method)[0], float(cast(float, method.temperature))
    if seen.std == 0 or SHARPEST <= value / seen.std <= SOFTEST:
        return ()
    kind = "sharp" if value < seen.std else "soft"
    return (
        f"{name} = {value:g} of {method.name} is {kind} for scores with a standard deviation of {seen.std:.2g}; "
        f"auto would be {seen.tau:.2g}.",
    )
