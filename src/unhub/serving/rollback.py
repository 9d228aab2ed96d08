"""``rollback``: what exports have written is taken away again, and aliases point where they did."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from unhub.api.artefact import load
from unhub.serving.journal import Journal
from unhub.stores import Export, corrected_place, open_store


@dataclass(frozen=True)
class RolledBack:
    """What was taken back: the exports, finished or begun, of a correction file."""

    exports: tuple[Export, ...]

    def plain(self) -> list[dict[str, Any]]:
        """What was removed, as JSON can hold it."""
        return [
            {"store": each.origin, "removed": each.place, "alias": each.alias, "alias_now": each.alias_before}
            for each in self.exports
        ]


def rollback(correction: str | os.PathLike[str], *, to: str | None = None) -> RolledBack:
    """Takes back every export that the file knows of; what was there before the first one serves again.

    to: the address of one store, also to give a password that the file does not keep; without it, all. Running it
    again does nothing.
    """
    journal = Journal(correction)
    known = load(correction)
    chosen = None if to is None else open_store(to).url
    mine = [each for each in known.exports if chosen in (None, each.origin)]
    begun = [each for each in journal.read() if chosen in (None, each.origin)]
    every = list({(each.origin, each.place): each for each in (*begun, *mine)}.values())
    for each in reversed(every):
        _take_back(each, to)
    if mine:
        kept = tuple(each for each in known.exports if each not in mine)
        replace(known, exports=kept).save(correction)
    for each in begun:
        journal.forget(each)
    return RolledBack(tuple(every))


def _take_back(export: Export, to: str | None) -> None:
    """Points the alias back first, so that nobody searches what is about to go."""
    collection = open_store(to or export.origin)
    try:
        if export.alias is not None and collection.alias(export.alias) == export.place:
            collection.point(export.alias, export.alias_before)
        if export.place is not None:
            place = corrected_place(collection, export.place, export.layout)
            place.drop()
            place.close()
    finally:
        collection.close()
