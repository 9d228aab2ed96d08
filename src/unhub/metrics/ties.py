"""What the rank of a target is when others have the same score."""

from __future__ import annotations

from collections.abc import Callable

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray

TiePolicy = Callable[[IntArray, IntArray, IntArray], FloatArray]

TIES: dict[str, TiePolicy] = {
    "average": lambda greater, shared, before: greater + (shared + 1) / 2,
    "optimistic": lambda greater, shared, before: greater + 1.0,
    "pessimistic": lambda greater, shared, before: greater + 1.0 * shared,
    "index": lambda greater, shared, before: greater + before + 1.0,
}
"""The 1-based rank of a target, from three counts over the targets of its query:

``greater`` scores, ``shared`` scores (equal, itself included) and those of them ``before`` it in the gallery.

>>> {name: policy(2, 3, 1) for name, policy in TIES.items()}
{'average': 4.0, 'optimistic': 3.0, 'pessimistic': 5.0, 'index': 4.0}
"""


def tie_policy(name: str) -> TiePolicy:
    """The policy of that name, or a sentence that lists the names."""
    if name not in TIES:
        raise InputError(f"ties={name!r} is not a tie policy; choose one of {', '.join(TIES)}")
    return TIES[name]
