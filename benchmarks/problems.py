"""The synthetic problems that every contender gets: seeded unit vectors of a given shape."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

TAU, ROUNDS = 0.01, 10
NNN_K, NNN_ALPHA = 128, 0.75
CSLS_K = 10
TEST_QUERIES, NEW_TARGETS = 1000, 1000


def unit_rows(rng: np.random.Generator, rows: int, dim: int) -> np.ndarray:
    """(rows, dim) float32 of length one, made in place: a copy would hide what a contender allocates later."""
    x = rng.standard_normal((rows, dim), dtype=np.float32)
    x /= np.sqrt(np.einsum("ij,ij->i", x, x))[:, None]
    return x


@dataclass(frozen=True)
class Shape:
    """Bank queries x targets x dimension, and the size of the target bank that dbsn reads as well."""

    bank: int
    gallery: int
    dim: int
    target_bank: int

    @classmethod
    def parse(cls, text: str) -> Shape:
        """20000x10000x512, with half as many target bank items as targets, or 20000x10000x512+3000."""
        found = re.fullmatch(r"(\d+)x(\d+)x(\d+)(?:\+(\d+))?", re.sub(r"[\s,]", "", text))
        if found is None:
            raise ValueError(f"{text!r} is no shape; write 20000x10000x512: bank queries, targets, dimension.")
        bank, gallery, dim = (int(found[part]) for part in (1, 2, 3))
        return cls(bank, gallery, dim, gallery // 2 if found[4] is None else int(found[4]))

    def __str__(self) -> str:
        return f"{self.bank:,} x {self.gallery:,} x {self.dim}"

    @property
    def argument(self) -> str:
        """What ``parse`` reads."""
        return f"{self.bank}x{self.gallery}x{self.dim}+{self.target_bank}"

    @property
    def tiny(self) -> Shape:
        """A shape of the same dimension for the first, uncounted call."""
        return Shape(min(300, self.bank), min(200, self.gallery), self.dim, min(100, self.target_bank))


@dataclass(frozen=True, eq=False)
class Problem:
    """Vectors of one shape; the same seed gives the same vectors in every process."""

    bank: np.ndarray
    targets: np.ndarray
    target_bank: np.ndarray
    queries: np.ndarray
    new_targets: np.ndarray


def make_problem(shape: Shape, seed: int) -> Problem:
    """The vectors of a shape and a seed."""
    rows = shape.bank, shape.gallery, shape.target_bank, TEST_QUERIES, NEW_TARGETS
    return Problem(*(unit_rows(np.random.default_rng([seed, role]), n, shape.dim) for role, n in enumerate(rows)))
