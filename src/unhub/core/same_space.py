"""Whether two sets of vectors come from one model: what one holds of the other, beside what chance gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unhub.foundation.types import FloatArray

FEWEST, NARROWEST = 50, 96
"""rows of either side, and numbers in a vector, without which chance alone explains much"""
SHARED_ENERGY = 1.25
"""of one model at least 1.6 (37 pairs of real sets, other domains included); of two models .8 to 1.1"""
ROWS = 256
"""rows whose products are formed at once"""
BEST_SCORE = 4.5
"""of one model at least 6.1; of two models 2.8 to 3.3, the largest of some thousand random numbers"""


@dataclass(frozen=True)
class SharedSpace:
    """Two sets of vectors beside each other, their means taken out.

    energy: mean squared inner product, as a multiple of what unrelated directions give. best: the mean over the rows of
    the best cosine with the others, in standard deviations of a random one.
    """

    energy: float
    best: float

    @property
    def unrelated(self) -> bool:
        """Whether both are what two different models give."""
        return self.energy < SHARED_ENERGY and self.best < BEST_SCORE


def shared_space(bank: FloatArray, targets: FloatArray) -> SharedSpace | None:
    """How much two sets of vectors (row, dim) have in common; None where there are too few to tell.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 96)) * np.linspace(0.1, 2, 96)
    >>> shared_space(rows[:200], rows[200:]).unrelated, shared_space(rows[:200], rows[200:, ::-1]).energy < 1
    (False, True)
    """
    dim = bank.shape[1]
    if min(len(bank), len(targets)) < FEWEST or dim < NARROWEST:
        return None
    left, right = _centred(bank), _centred(targets)
    energy, best = 0.0, 0.0
    for first in range(0, len(left), ROWS):
        scores = left[first : first + ROWS] @ right.T
        energy += float(np.square(scores).sum(dtype=np.float64))
        best += float(scores.max(axis=1).sum(dtype=np.float64))
    return SharedSpace(energy / len(left) / len(right) * dim, best / len(left) * np.sqrt(dim))


def _centred(rows: FloatArray) -> FloatArray:
    """Directions from the mean direction."""
    unit = _directions(rows)
    unit -= unit.mean(axis=0, dtype=np.float64)
    return _directions(unit)


def _directions(rows: FloatArray) -> FloatArray:
    """Rows of unit length; those of zeros stay as they are."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: FloatArray = rows / np.where(length > 0, length, 1)
    return unit
