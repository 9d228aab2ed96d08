"""Where exports are written and which aliases point there, with proof that what is there is unhub's own.

A correction file can be forged. So its record of an export is compared with the store before anything is read, written
or removed: the destination must have the name that unhub itself would give it, and before it is written to or removed
it must carry the mark that an export leaves in the store. An alias follows only if it points to such a place.
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
from unhub.foundation.wording import argument
from unhub.stores import Collection, CorrectedIndex, Description, Export, corrected_index

OWN_ALIAS = "{}_corrected"
_NOUNS = {"payload": "payload field", "column": "column", "expression": "column"}
_SHOWN = 80


def bias_name(correction: Correction) -> str:
    """A short name for the bias of a correction, which tells its exports from those of earlier fits."""
    return fingerprint(correction.served_bias.view("<u4").astype("<u8"))[:16]


def serving_export(correction: Correction, origin: str) -> Export | None:
    """The newest export of this very bias that serves the collection at this address."""
    exports = [each for each in correction.exports if each.origin == origin and each.state == "serving"]
    name = bias_name(correction) if exports else ""
    return next((each for each in reversed(exports) if each.bias == name), None)


def other_bias(correction: Correction, origin: str) -> str | None:
    """A sentence if the exports that serve the collection are of another bias, as after a new fit or verdict."""
    serving = [each for each in correction.exports if each.origin == origin and each.state == "serving"]
    if not serving or serving_export(correction, origin) is not None:
        return None
    return (
        f"{origin}: {serving[-1].destination or 'the export'} has another bias or strength than this correction has "
        f"now; export it again, or roll it back."
    )


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
    """The index of an export, to be written or removed; refused if it exists without unhub's mark."""
    index = exported_index(collection, export)
    if _unmarked(index):
        index.close()
        raise InputError(
            f"{_no_mark(collection, export)}, so it is left alone; if it is yours to remove, remove this "
            f"{_noun(collection, export)} yourself and run the same again."
        )
    return index


def why_stale(collection: Collection, export: Export) -> str | None:
    """Why an export cannot be brought up to date, and what to do, as a sentence; None if it can be."""
    again = f"export it again to {collection.url}"
    with closing(exported_index(collection, without_effort(export))) as index:
        if not index.exists():
            what = _noun(collection, export)
            return f"{collection.url}: the exported {what} {export.destination} no longer exists; {again}."
        if _unmarked(index):
            removed = f"then remove the old one by hand: {export.destination}"
            return f"{_no_mark(collection, export)}, so it stays as it is and is out of date now; {again} and {removed}"
    return None


def unmarked_export(collection: Collection, export: Export) -> str | None:
    """A sentence if the destination of an export exists without unhub's mark; None otherwise."""
    with closing(exported_index(collection, without_effort(export))) as index:
        if not _unmarked(index):
            return None
    return (
        f"{_no_mark(collection, export)}, so it stays as it is and another one is written beside it; once that is in "
        f"use, remove the old one by hand: {export.destination}"
    )


def another_tag(tag: str) -> str:
    """The tag to try if the name of this one is taken; always the same, so that a run can continue."""
    return hashlib.sha256(tag.encode()).hexdigest()[: len(tag)]


def without_effort(export: Export) -> Export:
    """The export with the usual search effort; raising it needs the index to exist."""
    return replace(export, encoding=replace(export.encoding, effort=1.0))


def _unmarked(index: CorrectedIndex) -> bool:
    return index.exists() and not index.made_by_unhub()


def _noun(collection: Collection, export: Export) -> str:
    return _NOUNS.get(export.encoding.strategy, collection.abilities.noun)


def _no_mark(collection: Collection, export: Export) -> str:
    """The beginning of a sentence."""
    named = f"{collection.url}: the {_noun(collection, export)} {export.destination}"
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
        f"{url} ranks by Euclidean distance and its vectors are not of unit length, so a bias cannot be added to its "
        f"scores; store unit vectors."
    )


def free_alias(collection: Collection, alias: str | None) -> str | None:
    """The alias for a new export, if the store has aliases; refused if a collection has that name."""
    if not collection.abilities.aliases:
        if alias is not None:
            raise InputError(
                "alias", f"is {alias!r}, but {collection.kind} has no aliases", f"leave out {argument('alias')}"
            )
        return None
    name = alias or OWN_ALIAS.format(collection.name)
    if collection.alias(name) is None and collection.sibling(name).exists():
        raise InputError("alias", f"is {name!r}, which is a collection of {collection.url}", "choose another name")
    return name


def recorded_alias(collection: Collection, before: Export) -> str | None:
    """The alias that a file records, if it already points to this export or is the default one.

    A file may come from anybody: no other alias is taken that the user has not named now, and none from what is not an
    export of this collection.
    """
    if before.alias is None or not collection.abilities.aliases:
        return None
    now = collection.alias(before.alias)
    if now is not None and now == before.destination:
        return before.alias
    if before.alias != OWN_ALIAS.format(collection.name):
        return None
    if now is None:
        return free_alias(collection, None)
    return before.alias if is_export(collection, now) else None


def switch_alias(collection: Collection, record: Export) -> None:
    """Points the alias at an export that passed its self-test; the alias of one that failed goes back."""
    if record.alias is None or record.destination is None:
        return
    if record.state == "serving":
        collection.set_alias(record.alias, record.destination)
    elif collection.alias(record.alias) == record.destination:
        restore_alias(collection, record.alias, record.alias_before)


def restore_alias(collection: Collection, alias: str, before: str | None) -> None:
    """Points an alias back where it was, if that is this collection or an export of it; removes it otherwise.

    Where it was comes from a file, which anybody could have made to name any collection.
    """
    valid = before is not None and (before == collection.name or is_export(collection, before))
    collection.set_alias(alias, before if valid else None)


def is_export(collection: Collection, name: str) -> bool:
    """Whether a collection of that name exists which unhub wrote as an export of this one."""
    tag = name[-8:]
    ours = re.fullmatch("[0-9a-f]{8}", tag) is not None and name == collection.derived(tag)
    return ours and collection.sibling(name).made_by_unhub()


def alias_before(collection: Collection, alias: str | None, known: Iterable[Export]) -> str | None:
    """What an alias pointed to before any export of ours; None if it did not exist."""
    if alias is None:
        return None
    ours = {each.destination: each for each in known if each.origin == collection.url and each.alias == alias}
    now, seen = collection.alias(alias), set[str | None]()
    while now in ours and now not in seen:
        seen.add(now)
        now = ours[now].alias_before
    return None if now in ours else now
