"""Exact corrected search over blocks; the full score matrix is never formed."""

from __future__ import annotations

import numpy as np

from unhub.banks.bank import Bank, blocks
from unhub.core.topk import top_k
from unhub.foundation.types import FloatArray, IntArray


def search(bank: Bank, bias: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """The k largest s_ij + bias_j of each row and their columns: (query, k) twice, ties to the lower column."""
    queries, gallery = bank.shape
    k = min(k, gallery)
    values = np.empty((queries, k), dtype=np.float32)
    columns = np.empty((queries, k), dtype=np.int64)
    for start, scores in blocks(bank):
        rows = slice(start, start + scores.shape[0])
        values[rows], columns[rows] = top_k(scores + bias.astype(scores.dtype), k)
    return values, columns
