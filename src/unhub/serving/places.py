"""Which export of a correction serves a collection, and where it is: only at a place that is unhub's own.

A correction file may come from anybody, so that what it notes of exports is compared with the store before anything is
read, written or removed there: the place must have the name that unhub itself would give it, and before it is written
to or removed it must carry the mark that an export leaves in the store.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace

from unhub.api.correction import Correction
from unhub.core.fingerprint import fingerprint
from unhub.foundation.errors import InputError
from unhub.stores import Collection, Corrected, Description, Export, corrected_place

_WORDS = {"payload": "payload field", "column": "column", "expression": "column"}
_KINDS = {"faiss": "file", "lancedb": "table"}
_SHOWN = 80


def bias_name(correction: Correction) -> str:
    """A short name for the bias of a correction, by which an export of it is known from those of earlier fits."""
    return fingerprint(correction.bias.view("<u4").astype("<u8"))[:16]


def serving_export(correction: Correction, origin: str) -> Export | None:
    """The newest export of just this bias that serves the collection at this address."""
    mine = bias_name(correction) if correction.exports else ""
    serving = [
        each for each in correction.exports if each.origin == origin and each.state == "serving" and each.bias == mine
    ]
    return serving[-1] if serving else None


def exported_place(collection: Collection, export: Export) -> Corrected:
    """The place of an export, to be searched; refused unless it has the name that unhub gives."""
    wanted, noted = collection.derived(export.tag), export.place or ""
    if noted != wanted:
        raise InputError(
            f"{noted[:_SHOWN]!r} is not a name that unhub gives to what it writes beside {collection.url} (that would "
            f"be {wanted}); nothing was touched, since this correction file is damaged or from somebody else."
        )
    return corrected_place(collection, wanted, export.layout)


def own_place(collection: Collection, export: Export) -> Corrected:
    """The place of an export, to be written or removed; refused if something is there that unhub has not marked."""
    place = exported_place(collection, export)
    if _unmarked(place):
        place.close()
        what = _noun(collection, export)
        raise InputError(
            f"{_no_mark(collection, export)}, so it is left alone; if it is yours to remove, remove this {what} "
            f"yourself and run the same again."
        )
    return place


def why_not_followed(collection: Collection, export: Export) -> str | None:
    """Why what was exported cannot be brought up to date, and what to do, as a sentence; None if it can be."""
    again = f"export again (unhub export FILE --to {collection.url})"
    with closing(exported_place(collection, without_effort(export))) as place:
        if not place.exists():
            what = _noun(collection, export)
            return f"{collection.url}: the {what} {export.place}, which was exported, is not there any more; {again}."
        if _unmarked(place):
            removed = f"then remove the old one by hand: {export.place}"
            return f"{_no_mark(collection, export)}, so it stays as it is and is behind now; {again} and {removed}"
    return None


def unmarked_export(collection: Collection, export: Export) -> str | None:
    """A sentence if there is something at the place of an export that unhub has not marked; None otherwise."""
    with closing(exported_place(collection, without_effort(export))) as place:
        if not _unmarked(place):
            return None
    return (
        f"{_no_mark(collection, export)}, so it stays as it is and another one is written beside it; once that is in "
        f"use, remove the old one by hand: {export.place}"
    )


def another_tag(tag: str) -> str:
    """The tag to try where the place of this one is taken; always the same, so that a run can go on where it was."""
    return hashlib.sha256(tag.encode()).hexdigest()[: len(tag)]


def without_effort(export: Export) -> Export:
    """The export as if no search were told to look at more, which needs the index."""
    return replace(export, layout=replace(export.layout, effort=1.0))


def _unmarked(place: Corrected) -> bool:
    return place.exists() and not place.made_by_unhub()


def _noun(collection: Collection, export: Export) -> str:
    return _WORDS.get(export.layout.form) or _KINDS.get(collection.kind, "collection")


def _no_mark(collection: Collection, export: Export) -> str:
    """The beginning of a sentence."""
    what = _noun(collection, export)
    return (
        f"{collection.url}: the {what} {export.place} does not carry unhub's mark (an export of release 0.1.0 has none)"
    )


def point_back(collection: Collection, alias: str, before: str | None) -> None:
    """Points an alias where it was, if that is this collection or an export of it; takes it away otherwise.

    Where it was stands in a file that may come from anybody, who could name any collection.
    """
    there = before is not None and (before == collection.name or is_export(collection, before))
    collection.point(alias, before if there else None)


def is_export(collection: Collection, name: str) -> bool:
    """Whether there is a collection of that name which unhub has written as an export of this one."""
    tag = name[-8:]
    ours = re.fullmatch("[0-9a-f]{8}", tag) is not None and name == collection.derived(tag)
    return ours and collection.sibling(name).made_by_unhub()


def alias_before(collection: Collection, alias: str | None, known: Iterable[Export]) -> str | None:
    """What an alias pointed to before any export of ours; None if it was not there."""
    if alias is None:
        return None
    ours = {each.place: each for each in known if each.origin == collection.url and each.alias == alias}
    now, seen = collection.alias(alias), set[str | None]()
    while now in ours and now not in seen:
        seen.add(now)
        now = ours[now].alias_before
    return None if now in ours else now


def refuse_other_kind(known: Correction, origin: Description) -> None:
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
        raise InputError(not_unit(origin.url))
    if known.reader.metric == "ip" and origin.metric == "cosine" and origin.unit is False:
        raise InputError(
            f"the correction was fitted on inner products but {origin.url} ranks by cosine and its vectors are not of "
            f"unit length; fit again with metric='cosine', normalize=True."
        )


def not_unit(url: str) -> str:
    """The sentence for Euclidean distances of vectors of any length."""
    return (
        f"{url} ranks by Euclidean distance and its vectors are not of unit length, so that a bias cannot be added to "
        f"what it ranks by; store unit vectors."
    )
