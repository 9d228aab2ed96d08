"""Where exports are written, and proof that what is there is unhub's own.

A correction file can be forged. So its record of an export is compared with the store before anything is read, written
or removed: the destination must have the name that unhub itself would give it, and before it is written to or removed
it must carry the mark that an export leaves in the store.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import replace

from unhub.api.correction import Correction
from unhub.core.fingerprint import fingerprint
from unhub.foundation.errors import InputError
from unhub.stores import Collection, CorrectedIndex, Description, Export, corrected_index

_NOUNS = {"payload": "payload field", "column": "column", "expression": "column"}
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


def exported_index(collection: Collection, export: Export) -> CorrectedIndex:
    """The index of an export, to be searched; refused unless it has the name that unhub gives."""
    wanted, noted = collection.derived(export.tag), export.destination or ""
    if noted != wanted:
        raise InputError(
            f"{noted[:_SHOWN]!r} is not a name that unhub gives to what it writes beside {collection.url} (that would "
            f"be {wanted}); nothing was touched, since this correction file is damaged or from somebody else."
        )
    return corrected_index(collection, wanted, export.encoding)


def owned_index(collection: Collection, export: Export) -> CorrectedIndex:
    """The index of an export, to be written or removed; refused if something is there that unhub has not marked."""
    index = exported_index(collection, export)
    if _unmarked(index):
        index.close()
        what = _noun(collection, export)
        raise InputError(
            f"{_no_mark(collection, export)}, so it is left alone; if it is yours to remove, remove this {what} "
            f"yourself and run the same again."
        )
    return index


def why_not_followed(collection: Collection, export: Export) -> str | None:
    """Why what was exported cannot be brought up to date, and what to do, as a sentence; None if it can be."""
    again = f"export it again to {collection.url}"
    with closing(exported_index(collection, without_effort(export))) as index:
        if not index.exists():
            what = _noun(collection, export)
            return f"{collection.url}: the exported {what} {export.destination} is not there any more; {again}."
        if _unmarked(index):
            removed = f"then remove the old one by hand: {export.destination}"
            return f"{_no_mark(collection, export)}, so it stays as it is and is behind now; {again} and {removed}"
    return None


def unmarked_export(collection: Collection, export: Export) -> str | None:
    """A sentence if there is something at the destination of an export that unhub has not marked; None otherwise."""
    with closing(exported_index(collection, without_effort(export))) as index:
        if not _unmarked(index):
            return None
    return (
        f"{_no_mark(collection, export)}, so it stays as it is and another one is written beside it; once that is in "
        f"use, remove the old one by hand: {export.destination}"
    )


def another_tag(tag: str) -> str:
    """The tag to try where the name of this one is taken; always the same, so that a run can go on where it was."""
    return hashlib.sha256(tag.encode()).hexdigest()[: len(tag)]


def without_effort(export: Export) -> Export:
    """The export as if no search were told to look at more, which needs the index."""
    return replace(export, encoding=replace(export.encoding, effort=1.0))


def _unmarked(index: CorrectedIndex) -> bool:
    return index.exists() and not index.made_by_unhub()


def _noun(collection: Collection, export: Export) -> str:
    return _NOUNS.get(export.encoding.strategy, collection.abilities.noun)


def _no_mark(collection: Collection, export: Export) -> str:
    """The beginning of a sentence."""
    what = _noun(collection, export)
    named = f"{collection.url}: the {what} {export.destination}"
    return f"{named} does not carry unhub's mark (an export of release 0.1.0 has none)"


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
    if known.metric == "ip" and origin.metric == "cosine" and origin.unit is False:
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
