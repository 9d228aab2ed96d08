"""The parts of a demonstration set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unhub.dataset.evidence import WANTED_RECENT
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
    """A demonstration set: test to judge on, dev and bank to learn from, unseen items to add later."""

    name: str
    title: str
    test: Part
    dev: Part
    bank: Part
    unseen: Part
    encode: Callable[[Sequence[str]], FloatArray] | None
    """texts to unit float32 rows; None if no encoder is installed"""
    notes: tuple[str, ...]

    @property
    def recent(self) -> FloatArray:
        """The last queries of dev: the guard judges by them, and no correction is fitted on them."""
        return self.dev.queries[-WANTED_RECENT:]

    @property
    def past(self) -> Part:
        """The bank and the rest of dev, as one query bank and one target bank."""
        bank, dev, rest = self.bank, self.dev, max(0, len(self.dev.queries) - WANTED_RECENT)
        targets = int(dev.relevant[rest])
        return Part(
            queries=np.concatenate((bank.queries, dev.queries[:rest])),
            targets=np.concatenate((bank.targets, dev.targets[:targets])),
            relevant=np.concatenate((bank.relevant, dev.relevant[:rest] + len(bank.targets))),
            query_texts=(*bank.query_texts, *dev.query_texts[:rest]),
            target_labels=(*bank.target_labels, *dev.target_labels[:targets]),
        )
