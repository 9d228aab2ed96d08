"""``refresh``: a correction and what was exported of it, brought up to date with a gallery that has changed."""

from __future__ import annotations

import os
import warnings
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unhub.api.correction import Correction
from unhub.api.fitted_vectors import noted_store
from unhub.core.fingerprint import row_digests, row_sketches
from unhub.dataset.galleries import unnamed_store
from unhub.deploy.destinations import bias_name, owned_index, serving_export, why_not_followed
from unhub.deploy.item_biases import Biases, Comparison
from unhub.deploy.journal import exclusive_journal
from unhub.foundation.errors import InputError, UnhubWarning
from unhub.foundation.types import FloatArray, IntArray, Progress
from unhub.foundation.wording import argument
from unhub.stores import Block, Collection, Export, open_store


@dataclass(frozen=True, eq=False)
class RefreshResult:
    """The correction of the gallery as it is now, and what had to be done for it."""

    correction: Correction
    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    stale: bool = False
    """whether what was exported had no room for it, is gone or lacks unhub's mark, and is behind now: export again"""

    def to_dict(self) -> dict[str, Any]:
        """The counts, as JSON can hold them."""
        return {"new": len(self.new), "changed": len(self.changed), "gone": len(self.gone)}


def refresh(
    correction: Correction | str | os.PathLike[str],
    store: str | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> RefreshResult:
    """The correction of a collection as it is now: exact bias for what is new or changed, without what is gone.

    No refit: what was there keeps its bias. What was exported beside the collection gets the same changes; where that
    is gone, or lacks unhub's mark, a warning says to export again. An interrupted run can simply be run again.

    correction: a correction, or the path of one, which is then saved there or to ``out``.
    store: the address of the collection. The address in a file is never connected to, since files can be forged.
    out: where to save the result instead; exports are then left as they are.
    progress: called with (what, done, total).
    """
    elsewhere = out is not None and (isinstance(correction, Correction) or Path(out) != Path(correction))
    with exclusive_journal(correction) as (known, journal), closing(_store_of(known, store)) as collection:
        record = None if elsewhere else serving_export(known, collection.url)
        changes = _compared(known, collection, record, progress)
        if record is not None and record.destination is not None:
            behind = why_not_followed(collection, record)
            if behind is not None:
                warnings.warn(behind, UnhubWarning, stacklevel=2)
                changes = replace(changes, room=False)
        cut_short = journal is not None and any(each.destination == changes.destination for each in journal.read())
        if journal is not None and record is not None and changes.destination is not None and changes.room:
            journal.note(record)
        current = changes.correction
        if record is not None and record.destination is not None and changes.room:
            _follow(collection, record, changes, everything=cut_short, progress=progress)
        if not changes.same or not changes.room:
            current = _noted(replace(current, source=collection.url, targets=None), record, changes.room)
        if elsewhere:
            current = replace(current, exports=())
        target = out or (None if isinstance(correction, Correction) else correction)
        if target is not None and (elsewhere or not changes.same or not changes.room):
            current.save(target)
        if journal is not None and record is not None:
            journal.forget(record)
    return RefreshResult(current, changes.new, changes.changed, changes.gone, stale=not changes.room)


def _store_of(known: Correction, store: str | None) -> Collection:
    if store:
        return open_store(store)
    if (noted := noted_store(known)) is not None:
        raise unnamed_store(noted, f"pass {argument('store')} {{}}")
    raise InputError("store", "is not given", "pass the address of the collection, such as qdrant://localhost/photos")


@dataclass(frozen=True, eq=False)
class _Changes:
    """What a comparison of collection and correction has brought."""

    correction: Correction
    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    destination: str | None
    room: bool

    @property
    def same(self) -> bool:
        return not (self.new or self.changed or self.gone)


def _compared(known: Correction, collection: Collection, record: Export | None, progress: Progress | None) -> _Changes:
    """The correction of the collection as it is now; nothing is written."""
    biases = Biases(known)
    comparison = Comparison(biases)
    total = collection.describe().count
    if total == 0:
        raise InputError(f"{collection.url} is empty; fill it first.")
    kept = _Marks(known.bias.copy(), _copy(known._digests), _copy(known._sketches))
    added: list[tuple[list[str], _Marks]] = []
    room = True
    for block in collection.scan():
        rows, stale_rows = comparison.look(block)
        if stale_rows.size:
            some = block.pick(stale_rows.tolist())
            bias = _extended(known, some, collection.url)
            marks = _Marks(bias, row_digests(some.vectors), row_sketches(some.vectors))
            room = room and (record is None or record.encoding.has_room(some.vectors, bias))
            at = rows[stale_rows]
            kept.take(at[at >= 0], marks.pick(at >= 0))
            fresh = np.flatnonzero(at < 0)
            added.append(([some.ids[row] for row in fresh.tolist()], marks.pick(fresh)))
        if progress is not None:
            progress("comparing", comparison.seen, max(total, comparison.seen))
    ids = list(biases.row)
    gone = tuple(ids[row] for row in comparison.gone.tolist())
    staying = np.setdiff1d(np.arange(len(ids)), comparison.gone)
    names = [ids[row] for row in staying.tolist()] + [each for some, _ in added for each in some]
    now = kept.pick(staying).joined([marks for _, marks in added])
    current = replace(known, bias=now.bias, _digests=now.digests, _sketches=now.sketches, ids=tuple(names))
    place = None if record is None else record.destination
    return _Changes(current, tuple(comparison.new), tuple(comparison.changed), gone, place, room)


def _follow(
    collection: Collection, record: Export, changes: _Changes, *, everything: bool, progress: Progress | None
) -> None:
    """Brings what was exported to where the collection is; after a run that was cut short, all is written again."""
    biases = Biases(changes.correction)
    with closing(owned_index(collection, record)) as index:
        there = {each for some in index.ids() for each in some}
        fresh = {*changes.new, *changes.changed}
        if not (fresh or changes.gone or everything) and len(there) == len(biases):
            return
        seen: set[str] = set()
        for block in collection.scan():
            stale_rows = [at for at, each in enumerate(block.ids) if everything or each in fresh or each not in there]
            if stale_rows:
                some = block.pick(stale_rows)
                index.write(some, biases.of_rows(biases.rows(some.ids)))
            seen.update(block.ids)
            if progress is not None:
                progress("writing", len(seen), max(len(biases), len(seen)))
        if there - seen:
            index.delete(sorted(there - seen))
        index.finish()


def _noted(current: Correction, record: Export | None, room: bool) -> Correction:
    """The correction with its notes of exports: the one that followed goes on, others are behind from now on."""
    mine = bias_name(current)

    def after(each: Export) -> Export:
        if each is record and room:
            return replace(each, bias=mine, items=current.bias.size)
        return replace(each, state="stale") if each.state == "serving" else each

    return replace(current, exports=tuple(after(each) for each in current.exports))


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
