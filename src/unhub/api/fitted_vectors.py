"""What a correction was fitted on: whether the vectors are still the same, and the bias that came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from unhub.api.guard import GuardedBias
from unhub.core.bias import Bias
from unhub.core.fingerprint import fingerprint, row_digests, row_sketches, same_but_for_rounding
from unhub.dataset.reader import kept_bytes
from unhub.executors import processors
from unhub.foundation.errors import InputError
from unhub.foundation.types import BoolArray, IntArray, Sliceable
from unhub.foundation.wording import argument
from unhub.io import Rows
from unhub.stores import is_address

if TYPE_CHECKING:
    from unhub.api.correction import Correction

When = Literal["during", "since"]
_ADVICE = {"during": "fit again when nothing writes to it", "since": "fit again"}


def fingerprints(*sources: Rows | None) -> dict[str, str]:
    """The fingerprint of each source by the name of its argument, of those that could change."""
    changeable = [rows for rows in sources if rows is not None and 0 not in rows.shape and not kept_bytes(rows)]
    return {rows.name: fingerprint(row_digests(rows, threads=processors())) for rows in changeable}


def refuse_change(known: Mapping[str, str], *sources: Rows | None, when: When) -> None:
    """An error if a source no longer has its fingerprint. Vectors read whole from a file are our own copy."""
    for rows in sources:
        if rows is not None and rows.name in known and not kept_bytes(rows):
            refuse_others(known, rows, row_digests(rows, threads=processors()), when=when)


def refuse_others(known: Mapping[str, str], rows: Rows, digests: IntArray, *, when: When) -> None:
    """An error if these digests, just taken of the rows, do not have the known fingerprint."""
    if known.get(rows.name, fingerprint(digests)) != fingerprint(digests):
        what = rows.name if rows.source is None else f"{rows.name}: {rows.source}"
        raise InputError(f"{what} changed {when} the fit; {_ADVICE[when]}.")


def changed_vectors(correction: Correction, places: IntArray, vectors: Sliceable) -> BoolArray:
    """(item,): whether the vectors (item, dim) differ from those fitted at these places of the gallery."""
    if correction._digests is None:
        return np.zeros(len(places), dtype=bool)
    different: BoolArray = row_digests(vectors) != correction._digests[places]
    if correction._sketches is not None and different.any():
        at = np.flatnonzero(different)
        now = row_sketches(np.concatenate([np.asarray(vectors[row : row + 1]) for row in at.tolist()]))
        different[at] = ~same_but_for_rounding(correction._sketches[places[at]], now)
    return different


def check_gallery(correction: Correction, rows: Rows) -> None:
    """Refuses a gallery that is not the one the correction was fitted on."""
    size = correction.bias.size
    if rows.shape[0] != size:
        raise InputError(
            f"this correction is of {size:,} targets but {argument('targets')} has {rows.shape[0]:,}; use the gallery "
            f"it was fitted on, or extend it to the new one."
        )
    different = np.flatnonzero(changed_vectors(correction, np.arange(size), rows))
    if different.size:
        first = ", ".join(str(row) for row in different[:5])
        raise InputError(
            f"this correction was fitted on another gallery: {different.size:,} of {size:,} vectors differ (first "
            f"rows: {first}); use the same vectors in the same order, or fit again."
        )


def ends_with(correction: Correction, targets: Sliceable, ids: Sequence[str]) -> bool:
    """Whether the last targets of a correction have these ids and vectors: they were appended before."""
    count = targets.shape[0]
    if correction.ids is None or correction._digests is None or correction.ids[-count:] != tuple(ids):
        return False
    return np.array_equal(correction._digests[-count:], row_digests(targets))


def noted_store(correction: Correction) -> str | None:
    """The address of the store that a correction was last exported to or fitted from; never connected to by itself."""
    noted = correction.exports[-1].origin if correction.exports else correction.source
    return noted if is_address(noted) else None


def saved_bias(correction: Correction, rows: IntArray | None = None) -> GuardedBias:
    """The bias of a correction at strength 1, as a method estimates it, and its verdict; rows: of these targets."""
    its = correction
    values = its.bias.astype(np.float64)
    values = values if rows is None or len(rows) == len(values) else values[rows]
    bias = Bias(values, its._offset, its.status, its.iterations, its.marginal_error, its._potentials)
    return GuardedBias(bias, its.verdict, its._linear)
