"""Vectors of unit length: making them so, and seeing whether they are, to the thousandths that half precision keeps."""

from __future__ import annotations

import numpy as np

from unhub.banks.embedding import vectors as read_rows
from unhub.foundation.types import FloatArray

CLOSE, NEAR = 1e-3, 0.1
"""how far from one a length may be, and the mean length where a quantiser has blurred each"""


SMALLEST = 1e-20
"""squared lengths above this, and below its reciprocal, are safe in float32"""


def are_unit(vectors: FloatArray, *, blurred: bool = False) -> bool | None:
    """Whether every vector (item, dim) is of length one; None if there are none.

    Vectors that a quantiser gives back are ``blurred``: there the mean length has to do.

    >>> are_unit(np.eye(3)), are_unit(2 * np.eye(3)), are_unit(np.empty((0, 3)))
    (True, False, None)
    """
    if not len(vectors):
        return None
    lengths = np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1)
    if blurred:
        return bool(abs(lengths.mean() - 1) <= NEAR)
    return bool((np.abs(lengths - 1) <= CLOSE).all())


def unit_rows(vectors: FloatArray) -> FloatArray:
    """(item, dim) float32: each row divided by its length; a row of zeros stays one."""
    rows = np.asarray(vectors, dtype=np.float32)
    square = np.einsum("ij,ij->i", rows, rows)
    if rows.size and square.min() > SMALLEST and square.max() < 1 / SMALLEST:
        plain: FloatArray = rows / np.sqrt(square)[:, None]
        return plain
    scaled: FloatArray = read_rows(rows, 0, len(rows), normalize=True)
    return scaled
