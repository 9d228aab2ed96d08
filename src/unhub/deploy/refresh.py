"""``refresh``: a correction and its export, brought up to date with a gallery that has changed."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unhub.api.correction import Correction
from unhub.api.facade import facade, warn
from unhub.api.fitted_vectors import noted_store
from unhub.api.guard import require_served
from unhub.core.fingerprint import row_digests, row_sketches
from unhub.dataset.galleries import unnamed_store
from unhub.deploy.destinations import bias_name, other_bias, owned_index, serving_export, why_stale
from unhub.deploy.item_biases import Biases, Comparison
from unhub.deploy.journal import exclusive_journal
from unhub.foundation.errors import InputError
from unhub.foundation.types import Progress
from unhub.foundation.wording import argument
from unhub.stores import Collection, Export, open_store


@dataclass(frozen=True, eq=False)
class RefreshResult:
    """The correction of the gallery as it is now, and what changed."""

    correction: Correction
    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    stale: bool = False
    """whether the export had no room for the changes, is gone or lacks unhub's mark: it is out of date, export again"""
    notes: tuple[str, ...] = ()
    """sentences: why the export is stale, or that it serves another bias or strength"""

    @property
    def unchanged(self) -> bool:
        """Whether nothing is new, changed or gone."""
        return not (self.new or self.changed or self.gone)

    def to_dict(self) -> dict[str, Any]:
        """The counts, as JSON can hold them."""
        return {"new": len(self.new), "changed": len(self.changed), "gone": len(self.gone)}


@facade
def refresh(
    correction: Correction | str | os.PathLike[str],
    store: str | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> RefreshResult:
    """The correction of a collection as it is now: exact bias for what is new or changed, without what is gone.

    No refit: other items keep their bias. The export beside the collection gets the same changes; if it is gone, or
    lacks unhub's mark, a warning says to export again. After an interruption, run it again.

    correction: a correction, or the path of one, which is then saved there or to ``out``.
    store: the address of the collection. The address in a file is never connected to, since files can be forged.
    out: where to save the result instead; exports are then left as they are.
    force: also where the verdict on the correction is to refuse it; its export serves at full strength.
    progress: called with (what, done, total).

    Returns a RefreshResult: the correction, and the ids that are new, changed and gone.
    """
    elsewhere = out is not None and (isinstance(correction, Correction) or Path(out) != Path(correction))
    with exclusive_journal(correction) as (loaded, journal), closing(_open(loaded, store)) as collection:
        known = require_served(loaded, force=force)
        record = None if elsewhere else serving_export(known, collection.url)
        exported = record if record is not None and record.destination is not None else None
        result = _compare(known, collection, record, progress)
        why = None if exported is None else why_stale(collection, exported)
        if why is not None:
            result = replace(result, stale=True, notes=(why,))
        elif not elsewhere and (why := other_bias(known, collection.url)) is not None:
            result = replace(result, notes=(why,))
        begun = () if journal is None else journal.read()
        interrupted = any(each.destination == (record and record.destination) for each in begun)
        if exported is not None and not result.stale:
            if journal is not None:
                journal.note(exported)
            _update(collection, exported, result, everything=interrupted, progress=progress)
        current = result.correction
        if result.stale or not result.unchanged:
            current = _record(replace(current, source=collection.url, targets=None), record, result.stale)
        current = replace(current, verdict=loaded.verdict, exports=() if elsewhere else current.exports)
        target = out or (None if isinstance(correction, Correction) else correction)
        if target is not None and (elsewhere or result.stale or not result.unchanged):
            current.save(target)
        if journal is not None and record is not None:
            journal.forget(record)
    warn(result.notes)
    return replace(result, correction=current)


def _open(known: Correction, store: str | None) -> Collection:
    if store:
        return open_store(store)
    if (noted := noted_store(known)) is not None:
        raise unnamed_store(noted, f"pass {argument('store')} {{}}")
    raise InputError("store", "is not given", "pass the address of the collection, such as qdrant://localhost/photos")


def _compare(
    known: Correction, collection: Collection, record: Export | None, progress: Progress | None
) -> RefreshResult:
    """The correction of the collection as it is now; nothing is written."""
    biases = Biases(known)
    comparison = Comparison(biases)
    total = collection.describe().count
    if total == 0:
        raise InputError(f"{collection.url} is empty; fill it first.")
    columns = {name: getattr(known, name) for name in ("bias", "_digests", "_sketches")}
    columns = {name: column.copy() for name, column in columns.items() if column is not None}
    added: list[tuple[list[str], dict[str, Any]]] = []
    room = True
    for block in collection.scan():
        rows, outdated = comparison.look(block)
        if outdated.size:
            some = block.pick(outdated.tolist())
            if known.query_bank is None:
                raise InputError(
                    f"{collection.url} has {len(some):,} items or more that the correction does not know. It was "
                    f"fitted on scores, so they cannot get a bias from their vectors; fit again."
                )
            bias = known.extend(some.vectors)
            now = {"bias": bias, "_digests": row_digests(some.vectors), "_sketches": row_sketches(some.vectors)}
            room = room and (record is None or record.encoding.has_room(some.vectors, known.strength * bias))
            old = rows[outdated]
            for name, column in columns.items():
                column[old[old >= 0]] = now[name][old >= 0]
            new = np.flatnonzero(old < 0)
            added.append(([some.ids[row] for row in new.tolist()], {name: now[name][new] for name in columns}))
        if progress is not None:
            progress("comparing", comparison.seen, max(total, comparison.seen))
    ids = list(biases.row)
    gone = tuple(ids[row] for row in comparison.gone.tolist())
    staying = np.setdiff1d(np.arange(len(ids)), comparison.gone)
    names = (*(ids[row] for row in staying.tolist()), *(each for some, _ in added for each in some))
    whole: dict[str, Any] = {
        name: np.concatenate([old[staying], *(now[name] for _, now in added)]) for name, old in columns.items()
    }
    current = replace(known, ids=names, _linear=known._linear_of(whole["bias"], len(staying)), **whole)
    return RefreshResult(current, tuple(comparison.new), tuple(comparison.changed), gone, stale=not room)


def _update(
    collection: Collection, record: Export, result: RefreshResult, *, everything: bool, progress: Progress | None
) -> None:
    """Brings the export up to date with the collection; after an interrupted run, everything is written again."""
    biases = Biases(result.correction)
    with closing(owned_index(collection, record)) as index:
        before = {each for some in index.ids() for each in some}
        if result.unchanged and not everything and len(before) == len(biases):
            return
        fresh = {*result.new, *result.changed}
        seen: set[str] = set()
        for block in collection.scan():
            rows = [at for at, each in enumerate(block.ids) if everything or each in fresh or each not in before]
            if rows:
                some = block.pick(rows)
                index.write(some, biases.of_rows(biases.rows(some.ids)))
            seen.update(block.ids)
            if progress is not None:
                progress("writing", len(seen), max(len(biases), len(seen)))
        if before - seen:
            index.delete(sorted(before - seen))
        index.finish()


def _record(current: Correction, record: Export | None, stale: bool) -> Correction:
    """The correction with its records of exports: the updated one goes on serving, others are stale from now on."""
    name = bias_name(current)

    def after(each: Export) -> Export:
        if each is record and not stale:
            return replace(each, bias=name, items=current.bias.size)
        return replace(each, state="stale") if each.state == "serving" else each

    return replace(current, exports=tuple(after(each) for each in current.exports))
