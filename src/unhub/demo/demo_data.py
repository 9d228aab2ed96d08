"""What a demonstration set consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unhub.foundation.types import FloatArray, IntArray


@dataclass(frozen=True)
class Part:
    """Aligned pieces of a data set: queries, targets and which target each query means."""

    queries: FloatArray
    """(query, dim) float32, unit rows"""
    targets: FloatArray
    """(gallery, dim) float32, unit rows"""
    relevant: IntArray
    """(query,) row in targets"""
    query_texts: tuple[str, ...]
    target_labels: tuple[str, ...]
    """what a person reads: an emoji and its name, a drawing's title"""


@dataclass(frozen=True)
class DemoData:
    """One demonstration: a test part to judge on, a dev part to choose on, a bank to fit on, items kept unseen."""

    name: str
    title: str
    test: Part
    dev: Part
    bank: Part
    unseen: Part
    encode: Callable[[Sequence[str]], FloatArray] | None
    """texts to unit float32 rows; None where no encoder is installed"""
    notes: tuple[str, ...]
