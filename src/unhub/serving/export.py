"""``export``: corrected vectors, or the bias, beside a collection; tested there, and only then put to use."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.api.artefact import load
from unhub.api.correction import Correction
from unhub.api.progress import Progress
from unhub.core.parameters import count
from unhub.foundation.errors import InputError, StoreError
from unhub.serving.biases import Biases
from unhub.serving.comparison import Comparison
from unhub.serving.journal import Journal
from unhub.serving.places import bias_name, serving_export
from unhub.serving.probes import ExactTop, K, Tested, choose_probes
from unhub.serving.rerank import Reranked
from unhub.stores import Collection, Corrected, Description, Export, Form, Plan, corrected_place, make_plan, open_store
from unhub.stores.protocol import BLOCK, Tunable

OWN_ALIAS = "{}_corrected"
CLOSE_ENOUGH = 0.005
"""the recall that a corrected index may lose to the raw one before it is told to look at more"""
STEP, MOST_EFFORT = 1.2, 3.0
"""how much more each time, and when to stop"""


@dataclass(frozen=True, eq=False)
class Exported:
    """What ``export`` did: the plan, what was written now, what was there already, and the self-test."""

    plan: Plan
    record: Export
    written: int
    found: int
    """items that an earlier run had written"""
    tested: Tested
    correction: Correction
    """the correction, with this export noted in it"""

    def plain(self) -> dict[str, Any]:
        """What was done, as JSON can hold it."""
        return {
            "plan": self.plan.plain(),
            "state": self.record.state,
            "place": self.record.place,
            "alias": self.record.alias,
            "written": self.written,
            "found": self.found,
            "self_test": self.tested.plain(),
        }


def plan_export(
    correction: Correction | str | os.PathLike[str],
    to: str,
    *,
    form: Form | None = None,
    pad_to: int | None = None,
    scale: float | None = None,
    alias: str | None = None,
) -> Plan:
    """What ``export`` would do there; nothing is written."""
    known, _ = _opened(correction)
    collection = open_store(to)
    try:
        return _plan(known, collection, form, pad_to, scale, alias)[0]
    finally:
        collection.close()


def export(
    correction: Correction | str | os.PathLike[str],
    to: str,
    *,
    form: Form | None = None,
    pad_to: int | None = None,
    scale: float | None = None,
    alias: str | None = None,
    allow_missing: bool = False,
    batch: int = BLOCK,
    progress: Progress | None = None,
) -> Exported:
    """Makes the store at the address ``to`` answer by score + bias, beside what it has; the old stays as it is.

    The form is chosen from the store's abilities (see ``plan_export``). Every item is read and compared with the
    correction first; items that the correction does not know are refused, or with allow_missing get a bias of 0. What
    an earlier, interrupted run has written is found and not written again. Then some probes are asked through the
    store and set beside exact corrected search, and only if that holds does the export count as serving, its alias
    point to it, and the correction file (if one was given by its path) say so.
    """
    batch = count("batch", batch)
    known, journal = _opened(correction)
    collection = open_store(to)
    try:
        plan, before = _plan(known, collection, form, pad_to, scale, alias)
        record = before or Export(
            origin=plan.origin.url,
            place=plan.place,
            layout=plan.layout,
            tag=plan.tag,
            bias=bias_name(known),
            alias=plan.alias,
            alias_before=collection.alias(plan.alias) if plan.alias else None,
            items=plan.origin.count,
        )
        biases = Biases(known)
        exact = _checked(known, biases, collection, plan, allow_missing, batch, progress)
        place = _place(collection, record, biases)
        if journal is not None and before is None:
            journal.note(record)
        written, found = _write(collection, place, biases, plan, batch, progress)
        tested = _tested(exact, collection, place, plan.origin)
        record = replace(record, tested=tested.plain(), state="serving" if tested.passed else "refused")
        if tested.passed and record.alias is not None and record.place is not None:
            collection.point(record.alias, record.place)
        noted = noting(known, record)
        if journal is not None and isinstance(correction, str | os.PathLike):
            noted.save(correction)
            journal.forget(record)
        place.close()
        return Exported(plan, record, written, found, tested, noted)
    finally:
        collection.close()


def noting(correction: Correction, record: Export) -> Correction:
    """The correction with this export in its list, in the place of an older note of the same."""
    others = [each for each in correction.exports if (each.origin, each.place) != (record.origin, record.place)]
    return replace(correction, exports=(*others, record))


def _opened(correction: Correction | str | os.PathLike[str]) -> tuple[Correction, Journal | None]:
    if isinstance(correction, Correction):
        return correction, None
    return load(correction), Journal(correction)


def _plan(
    known: Correction,
    collection: Collection,
    form: Form | None,
    pad_to: int | None,
    scale: float | None,
    alias: str | None,
) -> tuple[Plan, Export | None]:
    """The plan, and the note of an export that serves already and that nothing asks to be another."""
    origin = collection.describe()
    _refuse_other_kind(known, origin)
    named = alias or OWN_ALIAS.format(collection.name)
    cosine = known.reader.metric == "cosine"
    longest = _longest(collection) if not cosine else 1.0
    plan = make_plan(
        collection,
        origin,
        known.bias,
        cosine=cosine,
        form=form,
        pad_to=pad_to,
        scale=scale,
        alias=named,
        longest=longest,
    )
    before = serving_export(known, origin.url)
    if before is None or (form, pad_to, scale, alias) != (None, None, None, None):
        return plan, None
    return replace(plan, layout=before.layout, place=before.place, tag=before.tag, alias=before.alias), before


def _refuse_other_kind(known: Correction, origin: Description) -> None:
    """Refuses a store whose similarity is not the one that was fitted on."""
    dim = None if known.query_bank is None else known.query_bank.shape[1]
    if dim is not None and dim != origin.dim:
        raise InputError(
            f"the correction was fitted on vectors of dimension {dim} but {origin.url} has {origin.dim}; fit again "
            f"on it."
        )
    if origin.count == 0:
        raise InputError(f"{origin.url} is empty; fill it first.")
    if origin.metric == "l2" and origin.unit is False:
        raise InputError(
            f"{origin.url} ranks by Euclidean distance and its vectors are not of unit length, so that a bias cannot "
            f"be added to what it ranks by; store unit vectors."
        )
    if known.reader.metric == "ip" and origin.metric == "cosine" and origin.unit is False:
        raise InputError(
            f"the correction was fitted on inner products but {origin.url} ranks by cosine and its vectors are not of "
            f"unit length; fit again with metric='cosine', normalize=True."
        )


def _longest(collection: Collection) -> float:
    """The length of the longest vector."""
    lengths = [float(np.linalg.norm(block.vectors, axis=1).max(initial=0.0)) for block in collection.scan()]
    return max(lengths, default=1.0)


def _checked(
    known: Correction,
    biases: Biases,
    collection: Collection,
    plan: Plan,
    allow_missing: bool,
    batch: int,
    progress: Progress | None,
) -> ExactTop:
    """What exact search finds for the probes, once every item has been seen to be the one that was fitted."""
    comparison = Comparison(biases)
    exact: ExactTop | None = None
    for block in collection.scan(batch):
        rows, _ = comparison.look(block)
        if exact is None:
            exact = ExactTop(choose_probes(known, block.vectors), unit=plan.layout.unit)
        exact.look(block.ids, block.vectors, biases.of_rows(rows))
        if progress is not None:
            progress("checking", comparison.seen, max(plan.items, comparison.seen))
    comparison.refuse(plan.origin.url, allow_missing=allow_missing)
    assert exact is not None  # an empty collection was refused before
    return exact


def _place(collection: Collection, record: Export, biases: Biases) -> Corrected:
    if record.place is None:
        return Reranked(collection, biases, record.layout.metric)
    return corrected_place(collection, record.place, record.layout)


def _write(
    collection: Collection, place: Corrected, biases: Biases, plan: Plan, batch: int, progress: Progress | None
) -> tuple[int, int]:
    """How many items were written, and how many were there already."""
    if plan.place is None:
        return 0, 0
    place.create()
    there = {each for some in place.ids() for each in some}
    written = done = 0
    for block in collection.scan(batch):
        wanting = [at for at, each in enumerate(block.ids) if each not in there]
        if wanting:
            some = block if len(wanting) == len(block) else block.pick(wanting)
            place.write(some, biases.of_rows(biases.rows(some.ids)))
            written += len(some)
        done += len(block)
        if progress is not None:
            progress("writing", done, max(plan.items, done))
    if progress is not None:
        progress("building the index", done, done)
    place.finish()
    held = sum(len(some) for some in place.ids())
    if held < done:
        raise StoreError(
            f"{plan.origin.url}: {plan.place} holds {held:,} of {done:,} items after the export; run the same again."
        )
    return written, done - written


def _tested(exact: ExactTop, collection: Collection, place: Corrected, origin: Description) -> Tested:
    """The self-test; an approximate index that misses more than the raw one is told to look at more, where it can."""
    raw = collection.search(exact.probes, K)
    tested = exact.compare(place.search(exact.probes, K), raw, origin)
    effort = 1.0
    while not origin.exact and tested.recall < tested.raw_recall - CLOSE_ENOUGH and effort < MOST_EFFORT:
        if not (isinstance(place, Tunable) and place.harder(STEP)):
            break
        effort *= STEP
        tested = replace(exact.compare(place.search(exact.probes, K), raw, origin), effort=effort)
    if effort > 1:
        place.finish()
    return tested
