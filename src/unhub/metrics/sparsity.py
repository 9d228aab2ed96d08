"""How much of a normalised matrix is zero."""

from __future__ import annotations

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray


def sparsity(matrix: FloatArray) -> float:
    """The share of entries that are exactly zero, between 0 and 1.

    >>> sparsity(np.array([[0.0, 1.0], [0.0, 0.0]]))
    0.75
    """
    if not matrix.size:
        raise InputError(f"the matrix has shape {matrix.shape}; an empty matrix has no share of zeros")
    return 1.0 - float(np.count_nonzero(matrix)) / matrix.size
