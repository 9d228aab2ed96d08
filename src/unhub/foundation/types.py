"""Names for the arrays that travel through unhub.

Axis names are fixed: ``query``, ``bank``, ``gallery``, ``dim``, ``k``. Rows are queries or bank items, columns are
targets (the gallery), scores are similarities: larger is better.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]

Progress = Callable[[str, int, int], None]
"""called with the name of the work, rows read so far and rows to read in all"""

Similarity = Literal["cosine", "ip"]
"""how embeddings are compared: as unit vectors, or by their inner product as they are"""


class Sliceable(Protocol):
    """A two-dimensional array that can be read a slice of rows at a time: in memory or in a file."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns)"""

    @property
    def dtype(self) -> np.dtype[Any]:
        """what is stored; readers convert block by block"""

    def __getitem__(self, rows: slice, /) -> AnyArray:
        """the rows of a slice, as an array in memory"""
