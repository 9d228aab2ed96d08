"""The parts of a demonstration set."""

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
    """an emoji and its name, a drawing's title"""


@dataclass(frozen=True)
class DemoData:
    """A demonstration set: test to judge on, dev to choose on, bank to fit on, unseen items to add later."""

    name: str
    title: str
    test: Part
    dev: Part
    bank: Part
    unseen: Part
    encode: Callable[[Sequence[str]], FloatArray] | None
    """texts to unit float32 rows; None if no encoder is installed"""
    notes: tuple[str, ...]
