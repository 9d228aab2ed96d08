"""Whether a temperature suits the scores: settle "auto", refuse the impossible, warn of the improbable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unhub.banks import Bank, Spread, spread
from unhub.foundation.errors import InputError
from unhub.methods import HyperParameters, Method, settings, settle

SHARPEST, SOFTEST = 0.15, 1.0
"""tau over the standard deviation of the scores outside of which gains were seen to turn into losses"""

COSINE_LIMIT = 1.5
"""scores beyond this are no cosines, whatever the rounding"""

RESOLUTION = 4 * float(np.finfo(np.float32).eps)
"""tau below this share of the largest score is finer than float32 scores are"""


@dataclass(frozen=True)
class Settled:
    """A method whose temperatures are numbers, and the sentences that go with them."""

    method: Method
    warnings: tuple[str, ...]


def settle_temperature(method: Method, bank: Bank, *, given: bool, scores: Spread | None = None) -> Settled:
    """The method with "auto" replaced, checked against the spread of the bank's scores.

    given: whether the caller chose the temperature; a default made for cosines is refused on logits.
    """
    names = [name for name in ("tau", "tau1", "tau2") if name in settings(method)]
    if not names:
        return Settled(settle(method, 1.0), ())
    seen = spread(bank) if scores is None else scores
    automatic = seen.tau if seen.std > RESOLUTION * seen.largest else max(seen.largest, 1.0) / 100
    settled = settle(method, automatic)
    if not given and _all_numbers(method, names):
        _refuse_logits(settled, names[0], seen)
    told = []
    for name in names:
        value = float(settings(settled)[name])
        _refuse_finer_than_scores(name, value, seen)
        if name != "tau2" and getattr(method, name) != "auto":
            told += _unsuited(settled.name, name, value, seen)
    return Settled(settled, tuple(told))


def _all_numbers(method: Method, names: Sequence[str]) -> bool:
    return all(getattr(method, name) != "auto" for name in names)


def _refuse_logits(method: Method, name: str, seen: Spread) -> None:
    if seen.largest > COSINE_LIMIT:
        raise InputError(
            f"the scores run from {seen.low:.3g} to {seen.high:.3g} and look like logits, not cosines; the default "
            f"{name} = {getattr(method, name):g} of {method.name} is made for cosines: pass {_automatic(name, seen)}, "
            f"or divide the scores by their logit scale, often 100."
        )


def _refuse_finer_than_scores(name: str, value: float, seen: Spread) -> None:
    finest = RESOLUTION * seen.largest
    if value < finest:
        raise InputError(
            f"{name} = {value:g} is too small: float32 scores up to {seen.largest:.3g} cannot be told apart below "
            f"{finest:.1g}; pass a larger {name}, or {_automatic(name, seen)}."
        )


def _automatic(name: str, seen: Spread) -> str:
    return f"{name}='auto' (--{name} auto; about {seen.tau:.2g} here)"


def _unsuited(method: str, name: str, value: float, seen: Spread) -> list[str]:
    if seen.std == 0 or SHARPEST <= value / seen.std <= SOFTEST:
        return []
    kind = "sharp" if value < seen.std else "soft"
    return [
        f"{name} = {value:g} of {method} is {kind} for scores whose standard deviation is {seen.std:.2g}; "
        f"{name}='auto' (--{name} auto) would use {seen.tau:.2g}."
    ]


def temperature_given(which: str | Method, given: HyperParameters) -> bool:
    """Whether the caller chose the temperature: by name, or by making the method an object."""
    return not isinstance(which, str) or any(given.get(name) is not None for name in ("tau", "tau1"))
