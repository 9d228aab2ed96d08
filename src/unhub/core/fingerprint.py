"""A number per vector that tells whether it is still the same vector."""

from __future__ import annotations

import hashlib

import numpy as np

from unhub.foundation.types import IntArray, Sliceable

BLOCK = 1 << 20
"""values hashed in one go"""


def row_digests(rows: Sliceable) -> IntArray:
    """One uint64 per row, from its float32 bits: equal rows agree, others practically never do.

    A multiply-and-add hash with fixed odd multipliers; it guards against mistakes, not against an adversary.
    """
    count, dim = rows.shape
    multipliers = np.random.default_rng(20250).integers(1, 2**63, size=dim, dtype=np.uint64) | np.uint64(1)
    digests = np.empty(count, dtype=np.uint64)
    height = max(1, BLOCK // max(1, dim))
    for start in range(0, count, height):
        block = np.ascontiguousarray(rows[start : start + height], dtype=np.float32) + np.float32(0)
        bits = block.view(np.uint32).astype(np.uint64)
        mixed = (bits ^ (bits >> np.uint64(13))) * multipliers
        digests[start : start + height] = (mixed ^ (mixed >> np.uint64(29))).sum(axis=1, dtype=np.uint64)
    return digests


def fingerprint(digests: IntArray) -> str:
    """One short name for a whole gallery, order included."""
    return hashlib.sha256(np.ascontiguousarray(digests, dtype="<u8").tobytes()).hexdigest()[:32]
