"""The bias: one number per target, always added, published with mean zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unhub.foundation.types import FloatArray

Status = Literal["closed form", "converged", "iterations reached"]


@dataclass(frozen=True)
class Bias:
    """What a method learnt from a bank, and how the estimate ended.

    values: (gallery,) float64, in the unit of the scores, mean zero; offset: the mean that was taken out, so that
    a bias found later for an unseen target can be put on the same footing.
    """

    values: FloatArray
    offset: float
    status: Status = "closed form"
    iterations: int = 0
    marginal_error: float | None = None
    potentials: FloatArray | None = None
    """(bank,) tau * log alpha of each bank query, for methods whose rows carry a potential"""
    error_bound: float | None = None
    """how far the values may be from those of exact arithmetic, before centring"""
    plan: str | None = None
    """what was kept of the scores between reads"""


def centred(raw: FloatArray, *, by: float | None = None) -> tuple[FloatArray, float]:
    """The values with their mean taken out, and that mean; ``by`` takes out another mean instead."""
    offset = float(np.mean(raw, dtype=np.float64)) if by is None else by
    return raw - offset, offset


def closed_form(raw: FloatArray) -> Bias:
    """The bias of a formula that needs no iteration."""
    values, offset = centred(raw)
    return Bias(values, offset)
