"""Exact corrected search over blocks; the full score matrix is never formed."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.banks.bank import Bank, blocks, slabs
from unhub.core.arrays import is_numpy, like, namespace
from unhub.core.kernels import Demand, compiled, suits
from unhub.core.threads import parts_for, share
from unhub.core.topk import top_k
from unhub.foundation.types import FloatArray, IntArray

FEW = 64
"""results for each query up to which inserting them one by one is the faster way"""

_searches = Demand()


def search(bank: Bank, bias: FloatArray, k: int) -> tuple[Any, Any]:
    """The k largest s_ij + bias_j of each row and their columns: (query, k) twice, ties to the lower column.

    Tensors are searched where they are and give tensors.
    """
    if not is_numpy(bank.home):
        return _on_device(bank, like(bias, bank.home, namespace(bank.home).float32), k)
    queries, gallery = bank.shape
    k = min(k, gallery)
    values = np.empty((queries, k), dtype=np.float32)
    columns = np.empty((queries, k), dtype=np.int64)
    quick = k <= FEW and _searches.compiled_for(bank.shape)
    added = bias.astype(np.float32)
    for start, scores in slabs(bank) if quick else blocks(bank):
        rows = slice(start, start + scores.shape[0])
        if quick and suits(scores):
            _compiled_top(scores, added, values[rows], columns[rows])
        else:
            values[rows], columns[rows] = top_k(scores + bias.astype(scores.dtype), k)
    return values, columns


def _compiled_top(scores: FloatArray, bias: FloatArray, values: FloatArray, columns: IntArray) -> None:
    kernels: Any = compiled()

    def work(part: int, start: int, stop: int) -> None:
        kernels.top_rows(scores[start:stop], bias, values[start:stop], columns[start:stop])

    share(scores.shape[0], work, parts=parts_for(1, 1 << 20))


def _on_device(bank: Bank, bias: Any, k: int) -> tuple[Any, Any]:
    """Sorted by score, stably, so that equal ones stay in the order of their columns."""
    xp = namespace(bank.home)
    shape, device = (bank.shape[0], min(k, bank.shape[1])), bank.home.device
    values = xp.empty(shape, dtype=xp.float32, device=device)
    columns = xp.empty(shape, dtype=xp.int64, device=device)
    for start, scores in blocks(bank):
        corrected = scores + bias
        best = xp.argsort(corrected, axis=1, descending=True, stable=True)[:, : shape[1]]
        rows = slice(start, start + scores.shape[0])
        columns[rows] = best
        values[rows] = xp.take_along_axis(corrected, best, axis=1)
    return values, columns
