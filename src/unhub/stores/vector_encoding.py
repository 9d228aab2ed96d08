"""Vectors that carry their bias, so that a store's own ranking is by score + bias.

augment        [t; c bias; 0 ...] . [q; 1/c; 0 ...] = t.q + bias, for a store that ranks by inner product.
constant_norm  [t; c bias; sqrt(M^2 - |t|^2 - c^2 bias^2); 0 ...] with [q; 1/c; 0; 0 ...]: every target has the length
               M, so that cosine and Euclidean distance rank by t.q + bias too. Without it they are silently wrong.
               Under inner product it is right as well, and with strong hubs approximate indexes miss far less with it.

The bias is centred on the way in and the middle added again on the way out. Zeros pad what becomes codes to a multiple
of eight numbers: instructions and sub-quantisers stumble over a dimension of one more. Where each number is kept in a
few bits, the padding holds the bias again, every copy a part of a step off: their mean is finer than one code can be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from unhub.foundation import field_checks as checked
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import unit_rows
from unhub.stores.protocol import Metric, Strategy

VECTORS: tuple[Strategy, ...] = ("augment", "constant_norm")
"""strategies that write vectors anew; the others write one number per item, or nothing"""
PAD_TO = 8
CODES = 255
"""steps between the lowest and the highest bias, where each number is kept in eight bits"""
CENTRED = 1e-4
"""a bias whose mean is this small beside its largest is centred already"""
SLACK = 1.05
"""how much longer than the longest target the constant length is made, so that later targets fit in"""
FILLED = ("constant_norm", "expression")
"""strategies with one more number, which makes all vectors equally long"""

WIDEST = 2**20
LARGEST = 1e30
MOST_EFFORT = 1000.0
"""what an encoding from a file may say at most: numbers in a vector, any number in it, times as much to look at"""


@dataclass(frozen=True)
class VectorEncoding:
    """How corrected vectors are written, and how queries ask for them."""

    strategy: Strategy
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
    """M, the length of every vector of the constant-norm strategy, and of those that an expression makes"""
    unit: bool = False
    """whether raw vectors are scaled to unit length on the way"""
    copies: int = 1
    """in how many numbers the bias is written, of which a query asks for the mean"""
    lowest: float = 0.0
    highest: float = 0.0
    """of the biases as they are written; where there are copies, codes divide what is between"""
    effort: float = 1.0
    """how many times as much as a raw search a corrected one looks at, where that is said with every search"""

    def targets(self, vectors: FloatArray, bias: FloatArray) -> FloatArray:
        """(item, width) float32: what is written for raw vectors (item, dim) with their bias (item,)."""
        made = self._written(vectors, bias)
        if self.strategy == "constant_norm":
            made[:, self.dim + 1] = self._filler(made)
        return made

    def has_room(self, vectors: FloatArray, bias: FloatArray) -> bool:
        """Whether these fit within the constant length; other strategies have room for all."""
        if self.strategy != "constant_norm":
            return True
        written = self._written(vectors, bias)
        return bool((np.square(written.astype(np.float64)).sum(axis=1) <= self.radius**2).all())

    def queries(self, queries: FloatArray) -> FloatArray:
        """(query, width) float32: what is asked for raw queries (query, dim)."""
        raw = self._raw(queries)
        made = np.zeros((len(raw), self.width), dtype=np.float32)
        made[:, : self.dim] = raw
        made[:, self._biases if self.copies > 1 else self.dim] = 1 / (self.scale * self.copies)
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
        made = np.zeros((len(raw), self.width), dtype=np.float32)
        made[:, : self.dim] = raw
        scaled = (np.asarray(bias, dtype=np.float64) - self.middle) * self.scale
        made[:, self._biases] = scaled[:, None] + self._offsets(scaled)
        return made

    @property
    def _biases(self) -> list[int]:
        """Where the bias is: behind the vector, and all copies but the first behind the filler."""
        behind = self.dim + (2 if self.strategy == "constant_norm" else 1)
        return [self.dim, *range(behind, behind + self.copies - 1)]

    def _offsets(self, scaled: FloatArray) -> FloatArray:
        """(item, copy): parts of the step of a code, evenly over one; none at the ends, which say where codes begin.

        >>> made = VectorEncoding("augment", "ip", 2, 6, copies=4, lowest=0.0, highest=255.0)
        >>> made._offsets(np.array([100.3, 255.0]))
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
