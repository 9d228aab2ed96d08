"""Two methods' values on the same queries, made ready for comparison."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhub.foundation.errors import InputError


def judged_values(values: ArrayLike, name: str = "values") -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The values (query,) and which of them are judged; NaN marks a query without a relevant target."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"{name} must be flat, one value for each query, but has shape {array.shape}")
    judged = ~np.isnan(array)
    if not judged.any():
        raise InputError(f"{name} has no query with a relevant target; there is nothing to compare")
    return array, judged


def paired_values(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both methods' values on the judged queries, which must be the same for both."""
    (a, judged), (b, judged_too) = judged_values(first, "first"), judged_values(second, "second")
    if a.size != b.size:
        raise InputError(f"first has {a.size} queries and second {b.size}; compare methods on the same queries")
    if (judged != judged_too).any():
        raise InputError(f"query {np.argmax(judged != judged_too)} has a value in one method and NaN in the other")
    return a[judged], b[judged]
