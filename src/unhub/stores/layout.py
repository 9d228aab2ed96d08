"""Vectors that carry their bias, so that a store's own ranking is by score + bias.

augment        [t; c bias; 0 ...] . [q; 1/c; 0 ...] = t.q + bias, for a store that ranks by inner product.
constant_norm  [t; c bias; sqrt(M^2 - |t|^2 - c^2 bias^2); 0 ...] with [q; 1/c; 0; 0 ...]: every target has the length
               M, so that cosine and Euclidean distance rank by t.q + bias too. Without it they are silently wrong.
               Under inner product it is right as well, and approximate indexes miss less than with plain augmentation.

The bias is centred on the way in and the middle added again on the way out. Zeros pad to a multiple of eight numbers:
vector instructions and sub-quantisers stumble over a dimension of one more.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.lengths import unit_rows
from unhub.stores.protocol import Corrected, Form, Metric

PAD_TO = 8
CENTRED = 1e-4
"""a bias whose mean is this small beside its largest is centred already"""
SLACK = 1.05
"""how much longer than the longest target the constant length is made, so that later targets fit in"""


@dataclass(frozen=True)
class Layout:
    """How corrected vectors are written and asked for."""

    form: Form
    metric: Metric
    """what the store ranks the written vectors by"""
    dim: int
    """of the raw vectors"""
    width: int
    """of what is written"""
    scale: float = 1.0
    """c: the bias is written c times as large, and asked for with 1/c"""
    middle: float = 0.0
    """taken from every bias before it is written"""
    radius: float = 0.0
    """M, the length of every written vector of the constant-norm form"""
    unit: bool = False
    """whether raw vectors are scaled to unit length on the way"""

    @property
    def extra(self) -> int:
        """Numbers behind the raw vector that mean something; the rest is padding."""
        return 2 if self.form == "constant_norm" else 1

    def targets(self, vectors: FloatArray, bias: FloatArray) -> FloatArray:
        """(item, width) float32: what is written for raw vectors (item, dim) with their bias (item,)."""
        made = self._written(vectors, bias)
        if self.form == "constant_norm":
            made[:, self.dim + 1] = self._filler(made[:, : self.dim + 1])
        return made

    def has_room(self, vectors: FloatArray, bias: FloatArray) -> bool:
        """Whether these fit within the constant length; other forms have room for all."""
        if self.form != "constant_norm":
            return True
        written = self._written(vectors, bias)
        return bool((np.square(written[:, : self.dim + 1].astype(np.float64)).sum(axis=1) <= self.radius**2).all())

    def queries(self, queries: FloatArray) -> FloatArray:
        """(query, width) float32: what is asked for raw queries (query, dim)."""
        raw = self._raw(queries)
        made = np.zeros((len(raw), self.width), dtype=np.float32)
        made[:, : self.dim] = raw
        made[:, self.dim] = 1 / self.scale
        return made

    def scores(self, similarities: FloatArray, asked: FloatArray) -> FloatArray:
        """t.q + bias (query, k) from the similarities that the store gave for these written queries."""
        if self.metric == "ip":
            if not self.middle:
                return similarities
            moved: FloatArray = similarities + np.float32(self.middle)
            return moved
        found = np.asarray(similarities, dtype=np.float64)
        if self.metric == "cosine":
            found = found * (np.linalg.norm(asked.astype(np.float64), axis=1, keepdims=True) * self.radius)
        else:
            found = (np.square(asked.astype(np.float64)).sum(axis=1, keepdims=True) + self.radius**2 + found) / 2
        sums: FloatArray = (found + self.middle).astype(np.float32)
        return sums

    def plain(self) -> dict[str, Any]:
        """The fields as JSON can hold them."""
        return asdict(self)

    def _written(self, vectors: FloatArray, bias: FloatArray) -> FloatArray:
        """Vector and bias in their places, the rest zero."""
        raw = self._raw(vectors)
        made = np.zeros((len(raw), self.width), dtype=np.float32)
        made[:, : self.dim] = raw
        made[:, self.dim] = (np.asarray(bias, dtype=np.float64) - self.middle) * self.scale
        return made

    def _raw(self, vectors: FloatArray) -> FloatArray:
        raw = np.asarray(vectors, dtype=np.float32)
        if raw.ndim != 2 or raw.shape[1] != self.dim:
            raise InputError(
                f"vectors of shape {raw.shape} came where (items, {self.dim}) are wanted; use the same model."
            )
        return unit_rows(raw) if self.unit else raw

    def _filler(self, written: FloatArray) -> FloatArray:
        rest = self.radius**2 - np.square(written.astype(np.float64)).sum(axis=1)
        short = np.flatnonzero(rest < 0)
        if short.size:
            raise InputError(
                f"{short.size:,} vectors are longer than this export has room for; take it back and export again."
            )
        filler: FloatArray = np.sqrt(rest)
        return filler


def padded(numbers: int, pad_to: int) -> int:
    """The next multiple.

    >>> padded(129, 8), padded(129, 1)
    (136, 129)
    """
    return -(-numbers // pad_to) * pad_to


def layout(
    form: Form,
    metric: Metric,
    dim: int,
    bias: FloatArray,
    *,
    longest: float = 1.0,
    pad_to: int = PAD_TO,
    scale: float = 1.0,
    unit: bool = False,
) -> Layout:
    """The layout for targets no longer than ``longest`` with these biases."""
    middle = float(np.mean(bias, dtype=np.float64)) if bias.size else 0.0
    if abs(middle) <= CENTRED * float(np.abs(bias).max(initial=0.0)):
        middle = 0.0
    largest = float(np.abs(np.asarray(bias, dtype=np.float64) - middle).max(initial=0.0)) * scale
    radius = SLACK * float(np.hypot(longest, largest)) if form == "constant_norm" else 0.0
    extra = 2 if form == "constant_norm" else 1
    return Layout(form, metric, dim, padded(dim + extra, pad_to), scale, middle, radius, unit)


@runtime_checkable
class OwnForms(Protocol):
    """A collection whose store has a way of its own: a column, an expression index, a payload field."""

    def corrected(self, name: str, layout: Layout) -> Corrected:
        """The corrected place of that name, in the form that the layout says; it need not exist."""
