"""Block kernels, chosen by size: compiled ones for large problems, plain array formulas for all others.

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
from unhub.core.free_memory import room_for_compiler

WORTH_COMPILING = 1 << 24
"""scores in a problem from which on the compiled kernels save more than they cost"""


def compiled_for(shape: tuple[int, int]) -> bool:
    """Whether a problem of so many rows and columns is worth the compiled kernels, and they can be had."""
    return shape[0] * shape[1] >= WORTH_COMPILING and compiled() is not None


class Demand:
    """Work that compares and does not sum: many small pieces are worth the compiled kernels as a large one is."""

    def __init__(self) -> None:
        self._scores = 0

    def compiled_for(self, shape: tuple[int, int]) -> bool:
        """As the function of that name, with all that was asked for before; always when they are loaded anyway."""
        self._scores += shape[0] * shape[1]
        loaded = compiled.cache_info().currsize > 0
        return (loaded or self._scores >= WORTH_COMPILING) and compiled() is not None


def suits(scores: Any) -> bool:
    """Whether compiled kernels can read this block: float32 in memory, row after row."""
    return is_numpy(scores) and scores.dtype == np.float32 and bool(scores.flags.c_contiguous)


@cache
def compiled() -> ModuleType | None:
    """The compiled kernels; None where numba is not installed, does not know this interpreter or has no room."""
    if not room_for_compiler():
        return None
    try:
        from unhub.core import compiled as module
    except ImportError:
        return None
    return module
