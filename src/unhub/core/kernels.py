"""Block kernels: compiled ones for large problems, plain array formulas for all others.

Loading the compiled kernels takes about half a second, once in a process; a problem of a thousand by a thousand is
done long before that. A problem's size alone decides, so that the same call always takes the same way; only where
nothing is summed, as in a search, what was asked for before counts too.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from unhub.core.arrays import is_numpy


class Demand:
    """Scores that were searched so far: many small searches are worth the compiled kernels as a large one is."""

    def __init__(self) -> None:
        self._scores = 0

    def worth(self, shape: tuple[int, int], small: int) -> bool:
        """Whether this search, with all before it, is worth the kernels; always when they are loaded anyway."""
        self._scores += shape[0] * shape[1]
        return compiled.cache_info().currsize > 0 or self._scores >= small


def suits(scores: Any) -> bool:
    """Whether compiled kernels can read this block: float32 in memory, row after row."""
    return is_numpy(scores) and scores.dtype == np.float32 and bool(scores.flags.c_contiguous)


@cache
def compiled() -> ModuleType | None:
    """The compiled kernels; None where numba is not installed or does not know this interpreter."""
    try:
        from unhub.core import compiled as module
    except ImportError:
        return None
    return module
