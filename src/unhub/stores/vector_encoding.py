"""Vectors that carry their bias, so that a store's own ranking is by score + bias.

augment        [t; c bias; 0 ...] . [q; 1/c; 0 ...] = t.q + bias, for a store that ranks by inner product.
constant_norm  [t; c bias; sqrt(M^2 - |t|^2 - c^2 bias^2); 0 ...] with [q; 1/c; 0; 0 ...]: every target has the length
               M, so that cosine and Euclidean distance rank by t.q + bias too. Without it they are silently wrong.
               Under inner product it is right as well, and with strong hubs approximate indexes miss far less with it.

The bias is centred on the way in and the middle is added again on the way out. Zeros pad codes to a multiple of eight
numbers: instructions and sub-quantisers are slow with one dimension more. Where each number is kept in a few bits, the
padding holds the bias again, every copy a part of a step off: their mean is finer than one code can be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np

from unhub.foundation import field_checks as checked
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import unit_rows
from unhub.stores.interface import Metric, Strategy

VECTORS: tuple[Strategy, ...] = ("augment", "constant_norm")  # write new vectors; others one number per item, or none
PAD_TO = 8
CODES = 255  # steps between the lowest and the highest bias, where each number is kept in eight bits
CENTRED = 1e-4  # a bias whose mean is this small relative to its largest value is centred already
SLACK = 1.05  # the constant length is this much longer than the longest target, so that later targets fit
FILLED = ("constant_norm", "expression")  # strategies with one more number, which makes all vectors equally long

WIDEST, LARGEST, MOST_EFFORT = 2**20, 1e30, 1000.0  # limits for a file: numbers in a vector, any number, search effort


@dataclass(frozen=True)
class VectorEncoding:
    """How corrected vectors are written, and how queries ask for them."""

    strategy: Strategy
    metric: Metric  # what the store ranks the written vectors by
    dim: int  # of the raw vectors
    width: int  # of the written vectors
    scale: float = 1.0  # c: the bias is written c times as large, and a query holds 1/c
    middle: float = 0.0  # subtracted from every bias before it is written
    radius: float = 0.0  # M, the length of every written vector, with constant_norm and expression
    unit: bool = False  # whether raw vectors are scaled to unit length first
    copies: int = 1  # in how many numbers the bias is written; a query asks for their mean
    lowest: float = 0.0  # written bias; where there are copies, codes divide the range from here
    highest: float = 0.0  # to here
    effort: float = 1.0  # how many times as much as a raw search a corrected one looks at, if every search is told

    def targets(self, vectors: FloatArray, bias: FloatArray) -> FloatArray:
        """(item, width) float32: what is written for raw vectors (item, dim) with their bias (item,)."""
        written = self._written(vectors, bias)
        if self.strategy == "constant_norm":
            written[:, self.dim + 1] = self._filler(written)
        return written

    def has_room(self, vectors: FloatArray, bias: FloatArray) -> bool:
        """Whether these fit within the constant length; other strategies always have room."""
        if self.strategy != "constant_norm":
            return True
        written = self._written(vectors, bias)
        return bool((np.square(written.astype(np.float64)).sum(axis=1) <= self.radius**2).all())

    def queries(self, queries: FloatArray) -> FloatArray:
        """(query, width) float32: what the store is asked for raw queries (query, dim)."""
        raw = self._raw(queries)
        encoded = np.zeros((len(raw), self.width), dtype=np.float32)
        encoded[:, : self.dim] = raw
        encoded[:, self._biases if self.copies > 1 else self.dim] = 1 / (self.scale * self.copies)
        return encoded

    def scores(self, similarities: FloatArray, encoded: FloatArray) -> FloatArray:
        """t.q + bias (query, k) from the store's similarities for these encoded queries."""
        if self.metric == "ip":
            return similarities + np.float32(self.middle) if self.middle else similarities
        products, queries = np.asarray(similarities, dtype=np.float64), encoded.astype(np.float64)
        if self.metric == "cosine":
            products = products * (np.linalg.norm(queries, axis=1, keepdims=True) * self.radius)
        else:
            products = (np.square(queries).sum(axis=1, keepdims=True) + self.radius**2 + products) / 2
        return cast(FloatArray, (products + self.middle).astype(np.float32))

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON can hold them; files call the strategy "form"."""
        return {"form" if name == "strategy" else name: value for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, fields: Any) -> VectorEncoding:
        """The encoding that ``to_dict`` wrote; a ValueError unless every field is in range: files can be forged."""
        if not isinstance(fields, Mapping) or not set(fields) <= {"form", *cls.__dataclass_fields__}:
            raise ValueError("its layout has unknown fields")
        strategy = checked.one_of(fields, "form", get_args(Strategy))
        dim = checked.whole(fields, "dim", least=1, most=WIDEST)
        width = checked.whole(fields, "width", least=dim + 1 + (strategy in FILLED), most=WIDEST)
        lowest, highest = (_number(fields, name) for name in ("lowest", "highest"))
        if lowest > highest:
            raise ValueError("its lowest is above its highest")
        return cls(
            strategy=strategy,
            metric=checked.one_of(fields, "metric", get_args(Metric)),
            dim=dim,
            width=width,
            scale=checked.number(fields, "scale", least=1 / LARGEST, most=LARGEST, otherwise=1.0),
            middle=_number(fields, "middle"),
            radius=checked.number(fields, "radius", least=0, most=LARGEST, otherwise=0.0),
            unit=checked.switch(fields, "unit", otherwise=False),
            copies=checked.whole(fields, "copies", least=1, most=width - dim - (strategy in FILLED), otherwise=1),
            lowest=lowest,
            highest=highest,
            effort=checked.number(fields, "effort", least=1 / MOST_EFFORT, most=MOST_EFFORT, otherwise=1.0),
        )

    def _written(self, vectors: FloatArray, bias: FloatArray) -> FloatArray:
        """Vector and bias in their places, the rest zero."""
        raw = self._raw(vectors)
        written = np.zeros((len(raw), self.width), dtype=np.float32)
        written[:, : self.dim] = raw
        scaled = (np.asarray(bias, dtype=np.float64) - self.middle) * self.scale
        written[:, self._biases] = scaled[:, None] + self._offsets(scaled)
        return written

    @property
    def _biases(self) -> list[int]:
        """Where the bias is: after the vector, and all copies but the first after the filler."""
        second = self.dim + (2 if self.strategy == "constant_norm" else 1)
        return [self.dim, *range(second, second + self.copies - 1)]

    def _offsets(self, scaled: FloatArray) -> FloatArray:
        """(item, copy): parts of the step of a code, evenly over one; none at the ends, which set the range of codes.

        >>> encoding = VectorEncoding("augment", "ip", 2, 6, copies=4, lowest=0.0, highest=255.0)
        >>> encoding._offsets(np.array([100.3, 255.0]))
        array([[-0.375, -0.125,  0.125,  0.375],
               [ 0.   ,  0.   ,  0.   ,  0.   ]])
        """
        step = (self.highest - self.lowest) / CODES
        within = (scaled > self.lowest + step) & (scaled < self.highest - step)
        parts = (np.arange(self.copies) + 0.5) / self.copies - 0.5
        return np.where(within[:, None], parts * step, 0.0)

    def _raw(self, vectors: FloatArray) -> FloatArray:
        raw = np.asarray(vectors, dtype=np.float32)
        if raw.ndim != 2 or raw.shape[1] != self.dim:
            raise InputError(f"vectors have shape {raw.shape}, not (items, {self.dim}); use the same model.")
        return unit_rows(raw) if self.unit else raw

    def _filler(self, written: FloatArray) -> FloatArray:
        squares = self.radius**2 - np.square(written.astype(np.float64)).sum(axis=1)
        long = np.count_nonzero(squares < 0)
        if long:
            raise InputError(f"{long:,} vectors are longer than this export has room for; roll it back, export again.")
        return cast(FloatArray, np.sqrt(squares))


def _number(fields: Mapping[str, Any], name: str) -> float:
    """A finite number of either sign."""
    return checked.number(fields, name, least=-LARGEST, most=LARGEST, otherwise=0.0)


def padded(numbers: int, pad_to: int) -> int:
    """The next multiple.

    >>> padded(129, 8), padded(129, 1)
    (136, 129)
    """
    return -(-numbers // pad_to) * pad_to


def make_encoding(
    strategy: Strategy,
    metric: Metric,
    dim: int,
    bias: FloatArray,
    *,
    longest: float = 1.0,
    pad_to: int = PAD_TO,
    scale: float = 1.0,
    unit: bool = False,
    coded: bool = False,
) -> VectorEncoding:
    """The encoding for targets no longer than ``longest`` with these biases; ``coded``: each is kept in a few bits."""
    middle = float(np.mean(bias, dtype=np.float64)) if bias.size else 0.0
    if abs(middle) <= CENTRED * float(np.abs(bias).max(initial=0.0)):
        middle = 0.0
    scaled = (np.asarray(bias, dtype=np.float64) - middle) * scale
    largest = float(np.abs(scaled).max(initial=0.0))
    filled = strategy in FILLED
    width = padded(dim + 1 + filled, pad_to)
    lowest, highest = (float(scaled.min()), float(scaled.max())) if coded and scaled.size else (0.0, 0.0)
    copies = width - dim - filled if highest > lowest else 1
    radius = SLACK * float(np.hypot(longest, largest * math.sqrt(copies))) if filled else 0.0
    return VectorEncoding(strategy, metric, dim, width, scale, middle, radius, unit, copies, lowest, highest)
