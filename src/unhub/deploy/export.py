"""``export``: corrected vectors, or the bias, written beside a collection, tested there, and only then put to use."""

from __future__ import annotations

import os
import warnings
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from unhub.api.correction import Correction
from unhub.core.parameters import count, positive
from unhub.deploy.aliases import switch_alias
from unhub.deploy.destinations import not_unit, owned_index
from unhub.deploy.item_biases import Biases, Comparison
from unhub.deploy.journal import exclusive_journal
from unhub.deploy.planning import Choices, begin_record, plan_for
from unhub.deploy.retriever import reranked
from unhub.deploy.self_test import ExactTop, SelfTest, choose_probes, run_self_test
from unhub.foundation.errors import InputError, StoreError, UnhubWarning
from unhub.foundation.types import Progress
from unhub.stores import Collection, CorrectedIndex, Export, ExportPlan, Strategy, open_store
from unhub.stores.adapter import are_unit
from unhub.stores.export_record import State
from unhub.stores.protocol import BLOCK, Tunable
from unhub.stores.vector_encoding import MOST_EFFORT


@dataclass(frozen=True, eq=False)
class ExportResult:
    """What ``export`` did: the plan, what was written now, what was there already, and the self-test."""

    plan: ExportPlan
    record: Export
    written: int
    already_written: int
    """items that an earlier run had written"""
    self_test: SelfTest
    correction: Correction
    """the correction, with a record of this export"""
    notes: tuple[str, ...] = ()
    """what else to know, such as an older export that was left alone"""

    def to_dict(self) -> dict[str, Any]:
        """What was done, as JSON can hold it."""
        return {
            "plan": self.plan.to_dict(),
            "state": self.record.state,
            "place": self.record.destination,
            "alias": self.record.alias,
            "written": self.written,
            "found": self.already_written,
            "self_test": self.self_test.to_dict(),
        }


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
    progress: Progress | None = None,
) -> ExportResult:
    """Makes a store rank by score + bias, beside what it has; the old collection is only read.

    Every item is compared with the correction first. What an interrupted run has written is found and not written
    again. Then probes are asked through the store and compared with exact corrected search; only if that holds does
    the export serve, its alias point to it, and the correction file (if a path was given) record it.

    correction: a correction, or the path of one, which then records the export.
    to: the address of the collection.
    strategy: how the store ranks by score + bias; the best that it can by default (see ``plan_export``).
    pad_to: vectors are padded to a multiple of this; 8 for codes and 1 for floats by default.
    scale: how many times as large the bias is written; by the index by default.
    alias: the alias to point at the new collection; NAME_corrected by default, where there are aliases.
    effort: how many times as much as a raw search a corrected one looks at, in an approximate index. By default it is
        raised until the corrected index misses no more than the raw one; 1 leaves it as fast as it is.
    allow_missing: give items that the correction does not know a bias of 0, instead of refusing them.
    batch: items read and written at once.
    progress: called with (what, done, total).
    """
    batch = count("batch", batch)
    fixed_effort = None if effort is None else positive("effort", effort)
    if fixed_effort is not None and not 1 / MOST_EFFORT <= fixed_effort <= MOST_EFFORT:
        raise InputError("effort", f"is {fixed_effort:g}", f"give a number up to {MOST_EFFORT:g}, such as 2")
    with exclusive_journal(correction) as (known, journal), closing(open_store(to)) as collection:
        plan, before, notes = plan_for(known, collection, Choices(strategy, pad_to, scale, alias))
        record = before or begin_record(known, journal, collection, plan)
        biases = Biases(known)
        exact = _compare(known, biases, collection, plan, allow_missing, batch, progress)
        with closing(_index(collection, record, biases)) as index:
            if journal is not None and before is None:
                journal.note(record)
            written, already = _write(collection, index, biases, plan, allow_missing, batch, progress)
            if progress is not None:
                progress("testing", len(exact.probes), len(exact.probes))
            test = run_self_test(exact, collection, index, plan, before, fixed_effort)
            per_search = isinstance(index, Tunable) and not index.keeps_effort
        encoding = replace(record.encoding, effort=test.effort) if per_search else record.encoding
        state: State = "serving" if test.passed else "refused"
        record = replace(record, encoding=encoding, self_test=test.to_dict(), state=state)
        switch_alias(collection, record)
        others = [
            each for each in known.exports if (each.origin, each.destination) != (record.origin, record.destination)
        ]
        recorded = replace(known, exports=(*others, record))
        if journal is not None and isinstance(correction, str | os.PathLike):
            recorded.save(correction)
            journal.forget(record)
    notes = (*plan.origin.notes, *notes)
    for note in notes:
        warnings.warn(note, UnhubWarning, stacklevel=2)
    return ExportResult(plan, record, written, already, test, recorded, notes)


def _compare(
    known: Correction,
    biases: Biases,
    collection: Collection,
    plan: ExportPlan,
    allow_missing: bool,
    batch: int,
    progress: Progress | None,
) -> ExactTop:
    """The results of exact search for the probes; refused unless every item is the one that was fitted."""
    comparison = Comparison(biases)
    exact: ExactTop | None = None
    for block in collection.scan(batch):
        rows, _ = comparison.look(block)
        if exact is None:
            exact = ExactTop(choose_probes(known, block.vectors), unit=known.metric == "cosine")
        exact.look(block.ids, block.vectors, biases.of_rows(rows))
        if plan.origin.metric == "l2" and not plan.origin.coded and not are_unit(block.vectors):
            raise InputError(not_unit(plan.origin.url))
        if progress is not None:
            progress("checking", comparison.seen, max(plan.items, comparison.seen))
    comparison.refuse(plan.origin.url, allow_missing=allow_missing)
    assert exact is not None  # an empty collection was refused before
    return exact


def _index(collection: Collection, record: Export, biases: Biases) -> CorrectedIndex:
    if record.destination is None:
        return reranked(collection, biases)
    return owned_index(collection, record)


def _write(
    collection: Collection,
    index: CorrectedIndex,
    biases: Biases,
    plan: ExportPlan,
    allow_missing: bool,
    batch: int,
    progress: Progress | None,
) -> tuple[int, int]:
    """How many items were written, and how many were there already; what is no longer in the collection is removed."""
    if plan.destination is None:
        return 0, 0
    index.create()
    there = {each for some in index.ids() for each in some}
    comparison = Comparison(biases)
    seen: set[str] = set()
    written = 0
    for block in collection.scan(batch):
        comparison.look(block)
        rows = [at for at, each in enumerate(block.ids) if each not in there]
        if rows:
            some = block if len(rows) == len(block) else block.pick(rows)
            index.write(some, biases.of_rows(biases.rows(some.ids)))
            written += len(some)
        seen.update(block.ids)
        if progress is not None:
            progress("writing", len(seen), max(plan.items, len(seen)))
    if there - seen:
        index.delete(sorted(there - seen))
    if progress is not None:
        progress("building the index", len(seen), len(seen))
    index.finish()
    comparison.refuse(plan.origin.url, allow_missing=allow_missing)  # it may have changed since it was checked
    held = sum(len(some) for some in index.ids())
    if held != len(seen):
        raise StoreError(
            f"{plan.origin.url}: {plan.destination} holds {held:,} items after the export, not {len(seen):,}; run the "
            f"same again."
        )
    return written, len(seen) - written
