"""``plan_export`` and ``export``: what is written beside a collection, tested there, and only then put to use."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.api.artefact import loaded
from unhub.api.correction import Correction
from unhub.api.facade import facade, warn
from unhub.api.guard import require_served
from unhub.core.parameters import count, positive
from unhub.deploy import destinations
from unhub.deploy.item_biases import UP_TO_DATE, Biases, Comparison
from unhub.deploy.journal import Journal, exclusive_journal
from unhub.deploy.retriever import reranked
from unhub.deploy.self_test import ExactTop, SelfTest, choose_probes, run_self_test
from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import Progress
from unhub.foundation.wording import setting
from unhub.stores import Collection, CorrectedIndex, Export, ExportPlan, Strategy, make_plan, open_store
from unhub.stores.adapter import are_unit
from unhub.stores.export_plan import State
from unhub.stores.interface import BLOCK
from unhub.stores.vector_encoding import MOST_EFFORT


@dataclass(frozen=True, eq=False)
class ExportResult:
    """What ``export`` did."""

    plan: ExportPlan
    record: Export
    written: int
    already_written: int
    """items that an earlier run had written"""
    self_test: SelfTest
    correction: Correction
    """the correction, with a record of this export"""
    notes: tuple[str, ...] = ()
    """sentences such as: an older export was left alone"""

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON can hold it."""
        return {
            "plan": self.plan.to_dict(),
            "state": self.record.state,
            "place": self.record.destination,
            "alias": self.record.alias,
            "written": self.written,
            "found": self.already_written,
            "self_test": self.self_test.to_dict(),
        }


@facade
def plan_export(
    correction: Correction | str | os.PathLike[str],
    to: str,
    *,
    strategy: Strategy | None = None,
    pad_to: int | None = None,
    scale: float | None = None,
    alias: str | None = None,
    force: bool = False,
) -> ExportPlan:
    """The plan of an export; nothing is written, and items are counted but not compared.

    correction: a correction, or the path of one.
    to: the address of the collection, such as qdrant://localhost/photos.
    strategy: how the store ranks by score + bias; by default the best that it can do.
    pad_to: vectors are padded to a multiple of this; by default 8 for codes and 1 for floats.
    scale: how many times as large the bias is written; by default as the index needs it.
    alias: the alias to point at the new collection; by default NAME_corrected, where there are aliases.
    force: plan for full strength, also where the verdict on the correction is to refuse it.

    Returns an ExportPlan: strategy, destination, size, estimated time, notes.
    """
    known = loaded(correction)
    refused = "" if known.verdict.served else known.verdict.sentence
    with closing(open_store(to)) as collection:
        plan, _, notes = _plan(require_served(known, force=True), collection, strategy, pad_to, scale, alias)
    if refused:
        what = "this export serves the bias at full strength all the same" if force else "an export stops here"
        unless = "" if force else f", unless you pass {setting('force', True)}"
        notes = (f"{what}{unless}: {refused}", *notes)
    if plan.items == len(known.bias):
        note = "items are compared with the correction when it is exported, not now"
    else:
        more = ", or export with allow_missing" if plan.items > len(known.bias) else ""
        note = (
            f"the collection has {plan.items:,} items and the correction {len(known.bias):,}, which an export refuses; "
            f"{UP_TO_DATE}{more}"
        )
    return replace(plan, notes=(*plan.notes, *notes, note))


@facade
def export(
    correction: Correction | str | os.PathLike[str],
    to: str,
    *,
    strategy: Strategy | None = None,
    pad_to: int | None = None,
    scale: float | None = None,
    alias: str | None = None,
    effort: float | None = None,
    allow_missing: bool = False,
    batch: int = BLOCK,
    force: bool = False,
    progress: Progress | None = None,
) -> ExportResult:
    """Makes a store rank by score + bias, in a new place beside the collection, which is only read.

    First every item is compared with the correction. Items that an interrupted run wrote are not written again. Then a
    self-test compares the store's answers with exact corrected search. Only if it passes does the export serve, does
    its alias point to it, and does the correction file (if a path was given) record it as serving.

    correction: a correction, or the path of one, which then records the export.
    to: the address of the collection, such as qdrant://localhost/photos.
    strategy: how the store ranks by score + bias; by default the best that it can do (see ``plan_export``).
    pad_to: vectors are padded to a multiple of this; by default 8 for codes and 1 for floats.
    scale: how many times as large the bias is written; by default as the index needs it.
    alias: the alias to point at the new collection; by default NAME_corrected, where there are aliases.
    effort: how many times as much as a raw search a corrected one looks at, in an approximate index. By default it is
        raised until the corrected index misses no more than the raw one; 1 leaves it as fast as it is.
    allow_missing: give items that the correction does not know a bias of 0, instead of refusing them.
    batch: items read and written at once.
    force: export a correction whose verdict is to refuse it, at full strength; ``connect`` and ``refresh`` then need it
        too.
    progress: called with (what, done, total).

    Returns an ExportResult: the plan, the record, the counts, the self-test and the correction with the record.
    """
    batch, tell = count("batch", batch), progress or _silent
    fixed_effort = None if effort is None else positive("effort", effort)
    if fixed_effort is not None and not 1 / MOST_EFFORT <= fixed_effort <= MOST_EFFORT:
        raise InputError("effort", f"is {fixed_effort:g}", f"give a number up to {MOST_EFFORT:g}, such as 2")
    with exclusive_journal(correction) as (original, journal), closing(open_store(to)) as collection:
        known = require_served(original, force=force)
        plan, before, notes = _plan(known, collection, strategy, pad_to, scale, alias)
        record = before or _begin_record(known, journal, collection, plan)
        biases = Biases(known)
        exact = _compare(biases, collection, plan, allow_missing, batch, tell)
        written = already = 0
        exported = None if record.destination is None else destinations.owned_index(collection, record)
        with closing(exported or reranked(collection, biases)) as index:
            if journal is not None and before is None:
                journal.note(record)
            if exported is not None:
                comparison = Comparison(biases)
                written, already = _write(collection, exported, comparison, plan, batch, tell)
                comparison.refuse(plan.origin.url, allow_missing=allow_missing)  # it may have changed meanwhile
            tell("testing", len(exact.probes), len(exact.probes))
            test = run_self_test(exact, collection, index, plan, before, fixed_effort)
        per_search = not collection.abilities.keeps_effort
        encoding = replace(record.encoding, effort=test.effort) if per_search else record.encoding
        state: State = "serving" if test.passed else "refused"
        record = replace(record, encoding=encoding, self_test=test.to_dict(), state=state)
        destinations.switch_alias(collection, record)
        others = [each for each in known.exports if each.location != record.location]
        recorded = replace(original, exports=(*others, record))
        if journal is not None and isinstance(correction, str | os.PathLike):
            recorded.save(correction)
            journal.forget(record)
    notes = (*plan.origin.notes, *notes)
    warn(notes)
    return ExportResult(plan, record, written, already, test, recorded, notes)


def _plan(
    known: Correction,
    collection: Collection,
    strategy: Strategy | None,
    pad_to: int | None,
    scale: float | None,
    alias: str | None,
) -> tuple[ExportPlan, Export | None, tuple[str, ...]]:
    """The plan, the record of an export that already serves and is only to be continued, and notes.

    Whatever lacks unhub's mark at the destination stays as it is, with a note, and the plan uses another name.
    """
    origin = collection.describe()
    destinations.refuse_other_kind(known, origin)
    cosine = known.metric == "cosine"
    plan = make_plan(
        collection, origin, known.served_bias, cosine=cosine, strategy=strategy, pad_to=pad_to, scale=scale,
        alias=destinations.free_alias(collection, alias), longest=1.0 if cosine else _longest(collection),
    )  # fmt: skip
    default = strategy is None and pad_to is None and scale is None and alias is None
    before = destinations.serving_export(known, origin.url) if default else None
    if before is not None:
        before = replace(before, alias=destinations.recorded_alias(collection, before))
        plan = replace(
            plan, encoding=before.encoding, destination=before.destination, tag=before.tag, alias=before.alias
        )
    notes: list[str] = []
    while plan.destination is not None:
        record = Export(plan.origin.url, plan.destination, plan.encoding, plan.tag, bias="")
        note = destinations.unmarked_export(collection, record)
        if note is None:
            break
        notes.append(note)
        tag = destinations.another_tag(plan.tag)
        encoding = replace(plan.encoding, effort=1.0)  # it is measured again
        plan, before = replace(plan, tag=tag, destination=collection.derived(tag), encoding=encoding), None
    return plan, before, tuple(notes)


def _longest(collection: Collection) -> float:
    """The length of the longest vector."""
    lengths = [float(np.linalg.norm(block.vectors, axis=1).max(initial=0.0)) for block in collection.scan()]
    return max(lengths, default=1.0)


def _begin_record(known: Correction, journal: Journal | None, collection: Collection, plan: ExportPlan) -> Export:
    """The record of an export that begins now, or that was begun before."""
    others = (*known.exports, *(() if journal is None else journal.read()))
    again = next((each for each in others if each.location == (plan.origin.url, plan.destination)), None)
    alias = plan.alias if again is None or again.alias != plan.alias else None
    first = destinations.alias_before(collection, alias, others) if again is None or alias else again.alias_before
    record = Export(
        origin=plan.origin.url,
        destination=plan.destination,
        encoding=plan.encoding,
        tag=plan.tag,
        bias=destinations.bias_name(known),
        alias=plan.alias,
        alias_before=first,
        items=plan.origin.count,
    )
    try:
        return Export.from_dict(record.to_dict())  # refuses what a file could not give back
    except ValueError as error:
        raise InputError("to", f"is {plan.origin.url}, which no file can record ({error})", "rename it") from error


def _silent(what: str, done: int, total: int) -> None:
    """Progress that nobody wants to see."""


def _compare(
    biases: Biases, collection: Collection, plan: ExportPlan, allow_missing: bool, batch: int, tell: Progress
) -> ExactTop:
    """The results of exact search for the probes; refused unless every item is the one that was fitted."""
    comparison, known = Comparison(biases), biases.correction
    exact: ExactTop | None = None
    for block in collection.scan(batch):
        rows, _ = comparison.look(block)
        if exact is None:
            exact = ExactTop(choose_probes(known, block.vectors), unit=known.metric == "cosine")
        exact.look(block.ids, block.vectors, biases.of_rows(rows))
        if plan.origin.metric == "l2" and not plan.origin.coded and not are_unit(block.vectors):
            raise InputError(destinations.not_unit(plan.origin.url))
        tell("checking", comparison.seen, max(plan.items, comparison.seen))
    comparison.refuse(plan.origin.url, allow_missing=allow_missing)
    assert exact is not None  # an empty collection was refused before
    return exact


def _write(
    collection: Collection, index: CorrectedIndex, comparison: Comparison, plan: ExportPlan, batch: int, tell: Progress
) -> tuple[int, int]:
    """How many items were written now, and how many before; items that left the collection are removed."""
    index.create()
    before = {each for some in index.ids() for each in some}
    seen: set[str] = set()
    written = 0
    for block in collection.scan(batch):
        rows, _ = comparison.look(block)
        missing = [at for at, each in enumerate(block.ids) if each not in before]
        if missing:
            some = block if len(missing) == len(block) else block.pick(missing)
            index.write(some, comparison.biases.of_rows(rows[missing]))
            written += len(some)
        seen.update(block.ids)
        tell("writing", len(seen), max(plan.items, len(seen)))
    if before - seen:
        index.delete(sorted(before - seen))
    tell("building the index", len(seen), len(seen))
    index.finish()
    held = sum(len(some) for some in index.ids())
    if held != len(seen):
        raise StoreError(
            f"{plan.origin.url}: {plan.destination} holds {held:,} items after the export, not {len(seen):,}; run the "
            f"same again."
        )
    return written, len(seen) - written
