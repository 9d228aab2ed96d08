"""``plan_export``: what an export would write where, and the record of one that begins."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from unhub.api.artefact import load
from unhub.api.correction import Correction
from unhub.deploy.aliases import alias_before, free_alias, recorded_alias
from unhub.deploy.destinations import another_tag, bias_name, refuse_other_kind, serving_export, unmarked_export
from unhub.deploy.item_biases import UP_TO_DATE
from unhub.deploy.journal import Journal
from unhub.foundation.errors import InputError
from unhub.stores import Collection, Export, ExportPlan, Strategy, make_plan, open_store


@dataclass(frozen=True)
class Choices:
    """What a caller asks for of an export; None leaves it to the plan."""

    strategy: Strategy | None = None
    pad_to: int | None = None
    scale: float | None = None
    alias: str | None = None


def plan_export(
    correction: Correction | str | os.PathLike[str],
    to: str,
    *,
    strategy: Strategy | None = None,
    pad_to: int | None = None,
    scale: float | None = None,
    alias: str | None = None,
) -> ExportPlan:
    """The plan of an export; nothing is written, and items are counted but not compared.

    correction: a correction, or the path of one.
    to: the address of the collection.
    strategy: how the store ranks by score + bias; the best that it can by default.
    pad_to: vectors are padded to a multiple of this; 8 for codes and 1 for floats by default.
    scale: how many times as large the bias is written; by the index by default.
    alias: the alias to point at the new collection; NAME_corrected by default, where there are aliases.
    """
    known = correction if isinstance(correction, Correction) else load(correction)
    with closing(open_store(to)) as collection:
        plan, _, notes = plan_for(known, collection, Choices(strategy, pad_to, scale, alias))
    if plan.items == len(known.bias):
        note = "items are compared with the correction when it is exported, not now"
    else:
        more = ", or export with allow_missing" if plan.items > len(known.bias) else ""
        note = (
            f"the collection has {plan.items:,} items and the correction {len(known.bias):,}, which an export refuses; "
            f"{UP_TO_DATE}{more}"
        )
    return replace(plan, notes=(*plan.notes, *notes, note))


def plan_for(
    known: Correction, collection: Collection, choices: Choices
) -> tuple[ExportPlan, Export | None, tuple[str, ...]]:
    """The plan, the record of an export that already serves and is only to be continued, and notes.

    Whatever lacks unhub's mark at the destination stays as it is, with a note, and the plan is for another name.
    """
    origin = collection.describe()
    refuse_other_kind(known, origin)
    alias = free_alias(collection, choices.alias)
    cosine = known.metric == "cosine"
    plan = make_plan(
        collection,
        origin,
        known.bias,
        cosine=cosine,
        strategy=choices.strategy,
        pad_to=choices.pad_to,
        scale=choices.scale,
        alias=alias,
        longest=1.0 if cosine else _longest(collection),
    )
    before = serving_export(known, origin.url) if choices == Choices() else None
    if before is not None:
        before = replace(before, alias=recorded_alias(collection, before))
        plan = replace(
            plan, encoding=before.encoding, destination=before.destination, tag=before.tag, alias=before.alias
        )
    notes: list[str] = []
    while plan.destination is not None:
        record = Export(plan.origin.url, plan.destination, plan.encoding, plan.tag, bias="")
        note = unmarked_export(collection, record)
        if note is None:
            break
        notes.append(note)
        tag = another_tag(plan.tag)
        encoding = replace(plan.encoding, effort=1.0)  # it is measured again
        plan, before = replace(plan, tag=tag, destination=collection.derived(tag), encoding=encoding), None
    return plan, before, tuple(notes)


def begin_record(known: Correction, journal: Journal | None, collection: Collection, plan: ExportPlan) -> Export:
    """The record of an export that begins now, or that was begun before."""
    others = (*known.exports, *(() if journal is None else journal.read()))
    again = next(
        (each for each in others if (each.origin, each.destination) == (plan.origin.url, plan.destination)), None
    )
    alias = plan.alias if again is None or again.alias != plan.alias else None
    record = Export(
        origin=plan.origin.url,
        destination=plan.destination,
        encoding=plan.encoding,
        tag=plan.tag,
        bias=bias_name(known),
        alias=plan.alias,
        alias_before=alias_before(collection, alias, others) if again is None or alias else again.alias_before,
        items=plan.origin.count,
    )
    try:
        return Export.from_dict(record.to_dict())  # what a file could not give back is not begun
    except ValueError as error:
        raise InputError("to", f"is {plan.origin.url}, which no file can record ({error})", "rename it") from error


def _longest(collection: Collection) -> float:
    """The length of the longest vector."""
    lengths = [float(np.linalg.norm(block.vectors, axis=1).max(initial=0.0)) for block in collection.scan()]
    return max(lengths, default=1.0)
