"""``refresh``: a correction and what was exported of it, brought up to date with a gallery that has changed."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.api.artefact import load
from unhub.api.correction import Correction
from unhub.api.progress import Progress
from unhub.core.fingerprint import row_digests, row_sketches
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.serving.biases import Biases
from unhub.serving.comparison import Comparison
from unhub.serving.places import bias_name, serving_export
from unhub.stores import Block, Collection, Corrected, corrected_place, open_store


@dataclass(frozen=True, eq=False)
class Refreshed:
    """The correction of the gallery as it is now, and what had to be done for it."""

    correction: Correction
    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """The counts, as JSON can hold them."""
        return {"new": len(self.new), "changed": len(self.changed), "gone": len(self.gone)}


def refresh(
    correction: Correction | str | os.PathLike[str],
    store: str | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Refreshed:
    """The correction of a collection as it is now: exact bias for what is new or changed, without what is gone.

    No refit: what was there keeps its bias. What was exported beside the collection gets the same changes, before the
    correction is given back (and, if a path was given, saved there or to ``out``); a run that was cut short can simply
    be run again.
    """
    known = correction if isinstance(correction, Correction) else load(correction)
    address = store or (known.exports[-1].origin if known.exports else known.source)
    if address is None or "://" not in address:
        raise InputError("the correction was not fitted from a store; give its address (--store qdrant://...).")
    collection = open_store(address)
    place: Corrected | None = None
    try:
        origin = collection.url
        record = serving_export(known, origin)
        place = (
            None if record is None or record.place is None else corrected_place(collection, record.place, record.layout)
        )
        new, refreshed = _refreshed(known, collection, place, progress)
    finally:
        if place is not None:
            place.close()
        collection.close()
    if not (refreshed.new or refreshed.changed or refreshed.gone) and out is None:
        return replace(refreshed, correction=known)
    current = replace(new, source=origin, targets=None)
    if record is not None:
        updated = replace(record, bias=bias_name(current), items=current.bias.size)
        current = replace(current, exports=tuple(updated if each is record else each for each in current.exports))
    target = out or (None if isinstance(correction, Correction) else correction)
    if target is not None:
        current.save(target)
    return replace(refreshed, correction=current)


def _refreshed(
    known: Correction, collection: Collection, place: Corrected | None, progress: Progress | None
) -> tuple[Correction, Refreshed]:
    biases = Biases(known)
    comparison = Comparison(biases)
    total = collection.describe().count
    kept = _Marks(known.bias.copy(), _copy(known.digests), _copy(known.sketches))
    added: list[tuple[list[str], _Marks]] = []
    for block in collection.scan():
        rows, wanting = comparison.look(block)
        if wanting.size:
            some = block.pick(wanting.tolist())
            bias = _extended(known, some, collection.url)
            marks = _Marks(bias, row_digests(some.vectors), row_sketches(some.vectors))
            if place is not None:
                place.write(some, bias)
            at = rows[wanting]
            kept.take(at[at >= 0], marks.pick(at >= 0))
            fresh = np.flatnonzero(at < 0)
            added.append(([some.ids[row] for row in fresh.tolist()], marks.pick(fresh)))
        if progress is not None:
            progress("comparing", comparison.seen, max(total, comparison.seen))
    ids = list(biases.row)
    gone = [ids[row] for row in comparison.gone.tolist()]
    if place is not None:
        if gone:
            place.delete(gone)
        place.finish()
    staying = np.setdiff1d(np.arange(len(ids)), comparison.gone)
    names = [ids[row] for row in staying.tolist()] + [each for some, _ in added for each in some]
    now = kept.pick(staying).joined([marks for _, marks in added])
    current = replace(known, bias=now.bias, digests=now.digests, sketches=now.sketches, ids=tuple(names))
    return current, Refreshed(current, tuple(comparison.new), tuple(comparison.changed), tuple(gone))


@dataclass
class _Marks:
    """What a correction keeps of each item; digests and sketches may be None."""

    bias: Any
    digests: Any
    sketches: Any

    def pick(self, rows: Any) -> _Marks:
        return _Marks(*(None if each is None else each[rows] for each in self._all()))

    def take(self, rows: IntArray, marks: _Marks) -> None:
        for mine, theirs in zip(self._all(), marks._all(), strict=True):
            if mine is not None:
                mine[rows] = theirs

    def joined(self, others: list[_Marks]) -> _Marks:
        """These and the others behind them; what these do not have is left out."""
        columns = zip(self._all(), *(each._all() for each in others), strict=True)
        return _Marks(*(None if column[0] is None else np.concatenate(column) for column in columns))

    def _all(self) -> tuple[Any, Any, Any]:
        return self.bias, self.digests, self.sketches


def _copy(array: Any) -> Any:
    return None if array is None else array.copy()


def _extended(known: Correction, block: Block, url: str) -> FloatArray:
    if known.query_bank is None:
        raise InputError(
            f"{url} has {len(block):,} items or more that the correction does not know, and it was fitted on scores, "
            f"so that they cannot be given a bias from their vectors; fit again."
        )
    return known.extend(block.vectors)
