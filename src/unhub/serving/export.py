"""``export``: corrected vectors, or the bias, beside a collection; tested there, and only then put to use."""

from __future__ import annotations

import os
import warnings
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.api.artefact import load
from unhub.api.correction import Correction
from unhub.api.progress import Progress
from unhub.core.parameters import count, positive
from unhub.foundation.errors import InputError, StoreError, UnhubWarning
from unhub.serving.biases import Biases
from unhub.serving.comparison import Comparison
from unhub.serving.journal import Journal, beginning
from unhub.serving.places import (
    alias_before,
    another_tag,
    bias_name,
    is_export,
    not_unit,
    own_place,
    point_back,
    refuse_other_kind,
    serving_export,
    unmarked_export,
)
from unhub.serving.probes import ExactTop, K, Tested, choose_probes
from unhub.serving.rerank import reranked
from unhub.stores import Collection, Corrected, Export, Form, Plan, make_plan, open_store
from unhub.stores.layout import MOST_EFFORT as LARGEST_EFFORT
from unhub.stores.lengths import are_unit
from unhub.stores.protocol import BLOCK, Tunable

OWN_ALIAS = "{}_corrected"
CLOSE_ENOUGH = 0.002
"""the recall that a corrected index may lose to the raw one before it is told to look at more"""
STEP, MOST_EFFORT = 1.1, 3.0
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
    """What ``export`` would do there; nothing is written, and items are counted but not compared."""
    known = correction if isinstance(correction, Correction) else load(correction)
    with closing(open_store(to)) as collection:
        plan, _, left = _plan(known, collection, form, pad_to, scale, alias)
    if plan.items == len(known.bias):
        said = "items are compared with the correction when it is exported, not now"
    else:
        more = ", or export with allow_missing (--allow-missing)" if plan.items > len(known.bias) else ""
        said = (
            f"the collection has {plan.items:,} items and the correction {len(known.bias):,}, which an export refuses; "
            f"bring it up to date first, with unhub extend --store{more}"
        )
    return replace(plan, notes=(*plan.notes, *left, said))


def export(
    correction: Correction | str | os.PathLike[str],
    to: str,
    *,
    form: Form | None = None,
    pad_to: int | None = None,
    scale: float | None = None,
    alias: str | None = None,
    effort: float | None = None,
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

    effort: how many times as much as a raw search a corrected one looks at, in an approximate index that can be told.
    Without it, it is raised until the corrected index misses no more than the raw one; 1 leaves it as fast as it is.
    """
    batch = count("batch", batch)
    wanted = None if effort is None else positive("effort", effort)
    if wanted is not None and not 1 / LARGEST_EFFORT <= wanted <= LARGEST_EFFORT:
        raise InputError(f"effort is {wanted:g}; give a number up to {LARGEST_EFFORT:g}, such as 2.")
    with beginning(correction) as (known, journal), closing(open_store(to)) as collection:
        plan, before, left = _plan(known, collection, form, pad_to, scale, alias)
        record = before or _record(known, journal, collection, plan)
        biases = Biases(known)
        exact = _checked(known, biases, collection, plan, allow_missing, batch, progress)
        with closing(_place(collection, record, biases)) as place:
            if journal is not None and before is None:
                journal.note(record)
            written, found = _write(collection, place, biases, plan, allow_missing, batch, progress)
            if progress is not None:
                progress("testing", len(exact.probes), len(exact.probes))
            tested = _tested(exact, collection, place, plan, before, wanted)
            said = isinstance(place, Tunable) and not place.keeps_effort
        made = replace(record.layout, effort=tested.effort) if said else record.layout
        record = replace(record, layout=made, tested=tested.plain(), state="serving" if tested.passed else "refused")
        _switch(collection, record)
        noted = noting(known, record)
        if journal is not None and isinstance(correction, str | os.PathLike):
            noted.save(correction)
            journal.forget(record)
        for sentence in left:
            warnings.warn(sentence, UnhubWarning, stacklevel=2)
        return Exported(plan, record, written, found, tested, noted)


def _record(known: Correction, journal: Journal | None, collection: Collection, plan: Plan) -> Export:
    """The note of an export that begins now, or that was begun before."""
    others = (*known.exports, *(() if journal is None else journal.read()))
    again = next((each for each in others if (each.origin, each.place) == (plan.origin.url, plan.place)), None)
    alias = plan.alias if again is None or again.alias != plan.alias else None
    record = Export(
        origin=plan.origin.url,
        place=plan.place,
        layout=plan.layout,
        tag=plan.tag,
        bias=bias_name(known),
        alias=plan.alias,
        alias_before=alias_before(collection, alias, others) if again is None or alias else again.alias_before,
        items=plan.origin.count,
    )
    try:
        return Export.from_plain(record.plain())  # what a file could not give back is not begun
    except ValueError as error:
        raise InputError(f"an export to {plan.origin.url} cannot be noted in a file ({error}); rename it.") from error


def _switch(collection: Collection, record: Export) -> None:
    """Points the alias at what was tested; one that points to what failed goes back to where it was."""
    if record.alias is None or record.place is None:
        return
    if record.state == "serving":
        collection.point(record.alias, record.place)
    elif collection.alias(record.alias) == record.place:
        point_back(collection, record.alias, record.alias_before)


def noting(correction: Correction, record: Export) -> Correction:
    """The correction with this export in its list, in the place of an older note of the same."""
    others = [each for each in correction.exports if (each.origin, each.place) != (record.origin, record.place)]
    return replace(correction, exports=(*others, record))


def _plan(
    known: Correction,
    collection: Collection,
    form: Form | None,
    pad_to: int | None,
    scale: float | None,
    alias: str | None,
) -> tuple[Plan, Export | None, tuple[str, ...]]:
    """The plan, the note of an export that serves already and that nothing asks to be another, and what is left alone.

    Something without unhub's mark at the place is left alone, with a sentence about it, and the plan is for another.
    """
    origin = collection.describe()
    refuse_other_kind(known, origin)
    named = _free_alias(collection, alias)
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
        return _beside_unmarked(collection, plan, None)
    before = replace(before, alias=_noted_alias(collection, before))
    plan = replace(plan, layout=before.layout, place=before.place, tag=before.tag, alias=before.alias)
    return _beside_unmarked(collection, plan, before)


def _beside_unmarked(
    collection: Collection, plan: Plan, before: Export | None
) -> tuple[Plan, Export | None, tuple[str, ...]]:
    """The plan for a place that is free or ours, and a sentence about each that is neither."""
    left: list[str] = []
    while plan.place is not None:
        sentence = unmarked_export(collection, Export(plan.origin.url, plan.place, plan.layout, plan.tag, bias=""))
        if sentence is None:
            break
        left.append(sentence)
        tag = another_tag(plan.tag)
        made = replace(plan.layout, effort=1.0)  # which is found anew
        plan, before = replace(plan, tag=tag, place=collection.derived(tag), layout=made), None
    return plan, before, tuple(left)


def _noted_alias(collection: Collection, before: Export) -> str | None:
    """The alias that a file notes, if it points to this export already or if it is the one that every export gets.

    A file may come from anybody: no other alias is taken that the user has not named now, and none from what is not an
    export of this collection.
    """
    if before.alias is None or not collection.abilities.aliases:
        return None
    now = collection.alias(before.alias)
    if now is not None and now == before.place:
        return before.alias
    if before.alias != OWN_ALIAS.format(collection.name):
        return None
    if now is None:
        return _free_alias(collection, None)
    return before.alias if is_export(collection, now) else None


def _free_alias(collection: Collection, alias: str | None) -> str | None:
    """The alias to point at what is written, if the store has them; refused if a collection has that name."""
    if not collection.abilities.aliases:
        if alias is not None:
            raise InputError(f"{collection.kind} has no aliases; leave out alias (--alias).")
        return None
    named = alias or OWN_ALIAS.format(collection.name)
    if collection.alias(named) is None and collection.sibling(named).exists():
        raise InputError(f"{named} is a collection of {collection.url} and cannot be an alias; choose another name.")
    return named


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
            exact = ExactTop(choose_probes(known, block.vectors), unit=known.reader.metric == "cosine")
        exact.look(block.ids, block.vectors, biases.of_rows(rows))
        if plan.origin.metric == "l2" and not plan.origin.coded and not are_unit(block.vectors):
            raise InputError(not_unit(plan.origin.url))
        if progress is not None:
            progress("checking", comparison.seen, max(plan.items, comparison.seen))
    comparison.refuse(plan.origin.url, allow_missing=allow_missing)
    assert exact is not None  # an empty collection was refused before
    return exact


def _place(collection: Collection, record: Export, biases: Biases) -> Corrected:
    if record.place is None:
        return reranked(collection, biases)
    return own_place(collection, record)


def _write(
    collection: Collection,
    place: Corrected,
    biases: Biases,
    plan: Plan,
    allow_missing: bool,
    batch: int,
    progress: Progress | None,
) -> tuple[int, int]:
    """How many items were written, and how many were there already; what is no longer in the collection is removed."""
    if plan.place is None:
        return 0, 0
    place.create()
    there = {each for some in place.ids() for each in some}
    comparison = Comparison(biases)
    seen: set[str] = set()
    written = 0
    for block in collection.scan(batch):
        comparison.look(block)
        wanting = [at for at, each in enumerate(block.ids) if each not in there]
        if wanting:
            some = block if len(wanting) == len(block) else block.pick(wanting)
            place.write(some, biases.of_rows(biases.rows(some.ids)))
            written += len(some)
        seen.update(block.ids)
        if progress is not None:
            progress("writing", len(seen), max(plan.items, len(seen)))
    if there - seen:
        place.delete(sorted(there - seen))
    if progress is not None:
        progress("building the index", len(seen), len(seen))
    place.finish()
    comparison.refuse(plan.origin.url, allow_missing=allow_missing)  # it may have changed since it was checked
    held = sum(len(some) for some in place.ids())
    if held != len(seen):
        raise StoreError(
            f"{plan.origin.url}: {plan.place} holds {held:,} items after the export, not {len(seen):,}; run the same "
            f"again."
        )
    return written, len(seen) - written


def _tested(
    exact: ExactTop,
    collection: Collection,
    place: Corrected,
    plan: Plan,
    before: Export | None,
    wanted: float | None,
) -> Tested:
    """The self-test; an approximate index that misses more than the raw one is told to look at more, where it can."""
    origin = plan.origin
    every = origin.exact and plan.form not in ("rerank", "payload")
    raw = collection.search(exact.probes, K)
    effort = began = 1.0 if before is None else float(before.tested.get("effort", 1.0))

    def turn(to: float) -> bool:
        return not every and isinstance(place, Tunable) and place.harder(to / effort)

    if wanted is not None and wanted != effort and turn(wanted):
        effort = wanted
    while True:
        tested = replace(exact.compare(place.search(exact.probes, K), raw, origin, every=every), effort=effort)
        more = effort * STEP
        if wanted is not None or tested.recall >= tested.raw_recall - CLOSE_ENOUGH or more > MOST_EFFORT:
            break
        if not turn(more):
            break
        effort = more
    if effort != began:
        place.finish()
    return tested
