"""Aliases of a store that point at exports: which name, where it pointed before, and the way back."""

from __future__ import annotations

import re
from collections.abc import Iterable

from unhub.foundation.errors import InputError
from unhub.foundation.wording import argument
from unhub.stores import Collection, Export

OWN_ALIAS = "{}_corrected"


def switch_alias(collection: Collection, record: Export) -> None:
    """Points the alias at an export that passed its self-test; an alias of one that failed goes back."""
    if record.alias is None or record.destination is None:
        return
    if record.state == "serving":
        collection.set_alias(record.alias, record.destination)
    elif collection.alias(record.alias) == record.destination:
        point_back(collection, record.alias, record.alias_before)


def free_alias(collection: Collection, alias: str | None) -> str | None:
    """The alias to point at what is written, if the store has them; refused if a collection has that name."""
    if not collection.abilities.aliases:
        if alias is not None:
            raise InputError(
                "alias", f"is {alias!r}, but {collection.kind} has no aliases", f"leave out {argument('alias')}"
            )
        return None
    named = alias or OWN_ALIAS.format(collection.name)
    if collection.alias(named) is None and collection.sibling(named).exists():
        raise InputError("alias", f"is {named!r}, which is a collection of {collection.url}", "choose another name")
    return named


def recorded_alias(collection: Collection, before: Export) -> str | None:
    """The alias that a file notes, if it points to this export already or if it is the one that every export gets.

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


def point_back(collection: Collection, alias: str, before: str | None) -> None:
    """Points an alias where it was, if that is this collection or an export of it; takes it away otherwise.

    Where it was stands in a file that may come from anybody, who could name any collection.
    """
    there = before is not None and (before == collection.name or is_export(collection, before))
    collection.set_alias(alias, before if there else None)


def is_export(collection: Collection, name: str) -> bool:
    """Whether there is a collection of that name which unhub has written as an export of this one."""
    tag = name[-8:]
    ours = re.fullmatch("[0-9a-f]{8}", tag) is not None and name == collection.derived(tag)
    return ours and collection.sibling(name).made_by_unhub()


def alias_before(collection: Collection, alias: str | None, known: Iterable[Export]) -> str | None:
    """What an alias pointed to before any export of ours; None if it was not there."""
    if alias is None:
        return None
    ours = {each.destination: each for each in known if each.origin == collection.url and each.alias == alias}
    now, seen = collection.alias(alias), set[str | None]()
    while now in ours and now not in seen:
        seen.add(now)
        now = ours[now].alias_before
    return None if now in ours else now
