"""The bias: one number per target, always added, published with mean zero.

A bias fits in one more dimension, [q; 1] . [t; bias] = s + bias, so any inner-product index serves corrected results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unhub.foundation.types import FloatArray

Status = Literal["closed form", "converged", "iterations reached"]


@dataclass(frozen=True)
class Bias:
    """What a method estimated from a bank, and how the estimate ended.

    values: (gallery,) float64, in the unit of the scores, mean zero. offset: the mean that was subtracted; the bias of
    an unseen target has the same one subtracted.
    """

    values: FloatArray
    offset: float
    status: Status = "closed form"
    iterations: int = 0
    marginal_error: float | None = None
    potentials: FloatArray | None = None
    """(bank,) tau * log alpha of each bank query, for methods whose rows carry a potential"""
    error_bound: float | None = None
    """bound on the rounding error of the values, before centring"""
    plan: str | None = None
    """what was kept of the scores between reads"""
    held_out: tuple[FloatArray, ...] = ()
    """(gallery,) float32 each: the values without some bank queries, as ``Banks.held_out`` asks for; mean zero"""


def scaled_bias(bias: FloatArray, strength: float) -> FloatArray:
    """strength * bias: what is added to the scores of every target, (gallery,) float32."""
    return (strength * bias.astype(np.float32)).astype(np.float32)


def centred(raw: FloatArray, *, by: float | None = None) -> tuple[FloatArray, float]:
    """The values minus their mean, and that mean; ``by`` subtracts another number instead."""
    offset = float(np.mean(raw, dtype=np.float64)) if by is None else by
    return raw - offset, offset


def closed_form(raw: FloatArray) -> Bias:
    """The bias of a formula that needs no iteration."""
    values, offset = centred(raw)
    return Bias(values, offset)


def augment_targets(targets: FloatArray, bias: FloatArray) -> FloatArray:
    """[t; bias]: (gallery, dim + 1) float32.

    >>> t, q = np.eye(2, dtype=np.float32), np.array([[0.6, 0.8]], dtype=np.float32)
    >>> (augment_queries(q) @ augment_targets(t, np.array([0.5, -0.5])).T).round(3).tolist()
    [[1.100000023841858, 0.30000001192092896]]
    """
    return np.column_stack((np.asarray(targets, dtype=np.float32), bias.astype(np.float32)))


def augment_queries(queries: FloatArray) -> FloatArray:
    """[q; 1]: (query, dim + 1) float32."""
    ones = np.ones((queries.shape[0], 1), dtype=np.float32)
    return np.concatenate((np.asarray(queries, dtype=np.float32), ones), axis=1)
