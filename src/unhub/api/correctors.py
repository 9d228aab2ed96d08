"""From a method to a function that corrects blocks of test rows, whichever kind of method it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unhub.banks import Bank, Banks, blocks
from unhub.banks.masked import mask_self
from unhub.core.bias import Bias
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.methods import Method, RowMethod, is_additive, is_matrix_only

WHOLE_MATRIX_BYTES = 8 << 30
"""float64 matrices past this are not attempted by methods that need the whole matrix at once"""


@dataclass(frozen=True)
class Corrected:
    """Corrected test rows, to be read once; where there is a bias, how it was found and what of it was added."""

    rows: Iterator[tuple[int, FloatArray]]
    bias: Bias | None = None
    added: FloatArray | None = None


def corrected(
    method: Method, test: Bank, banks: Banks, *, masked: bool = False, known: Bias | None = None
) -> Corrected:
    """The test scores as the method corrects them, block after block; known: a bias that was estimated before."""
    if is_matrix_only(method):
        whole = method.correct(_whole(method, test, masked))
        step = test.block_rows
        return Corrected((start, whole[start : start + step]) for start in range(0, len(whole), step))
    if is_additive(method):
        bias = finite(method, method.estimate(banks)) if known is None else known
        added = method.strength * bias.values
        return Corrected(((start, rows + added.astype(rows.dtype)) for start, rows in blocks(test)), bias, added)
    assert isinstance(method, RowMethod)
    correct = method.prepare(banks)
    return Corrected((start, correct(mask_self(rows, start) if masked else rows)) for start, rows in blocks(test))


def finite(method: Method, bias: Bias) -> Bias:
    """The bias, if it is a number for every target; scores beyond float32 and weights beyond reason make it none."""
    wrong = np.flatnonzero(~np.isfinite(bias.values))
    if wrong.size:
        raise InputError(
            f"the bias of {method.name} is not a number for {wrong.size:,} of {bias.values.size:,} targets (first: row "
            f"{wrong[0]}); scores this large, or weights this uneven, leave float32: scale them down."
        )
    return bias


def _whole(method: Method, test: Bank, masked: bool) -> FloatArray:
    """The whole matrix of test scores; self-pairs get a score far below all others."""
    queries, gallery = test.shape
    if queries * gallery * 8 > WHOLE_MATRIX_BYTES:
        raise InputError(
            f"{method.name} needs the whole matrix of {queries:,} x {gallery:,} scores at once, which is "
            f"{queries * gallery * 8 / 2**30:.0f} GiB; evaluate it on a sample."
        )
    whole = np.concatenate([rows for _, rows in blocks(test)])
    if masked:
        np.fill_diagonal(whole, whole.min() - (whole.max() - whole.min()))
    return whole
