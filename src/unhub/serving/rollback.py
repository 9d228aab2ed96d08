"""``rollback``: what exports have written is taken away again, and aliases point where they did."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from unhub.foundation.errors import InputError
from unhub.serving.journal import beginning
from unhub.serving.places import alias_before
from unhub.stores import Export, corrected_place, open_store


@dataclass(frozen=True)
class RolledBack:
    """What was taken back: the exports, finished or begun, of a correction file."""

    exports: tuple[Export, ...]
    absent: frozenset[tuple[str, str | None]] = frozenset()
    """origin and place of those that were not there any more, or not yet"""

    def removed(self, export: Export) -> str | None:
        """The place of one of the exports, if it was there to be removed."""
        return None if (export.origin, export.place) in self.absent else export.place

    def plain(self) -> list[dict[str, Any]]:
        """What was removed, as JSON can hold it."""
        return [
            {"store": each.origin, "removed": self.removed(each), "alias": each.alias, "alias_now": each.alias_before}
            for each in self.exports
        ]


def rollback(correction: str | os.PathLike[str], *, to: str | None = None) -> RolledBack:
    """Takes back every export that the file knows of; what was there before the first one serves again.

    to: the address of one store, also to give a password that the file does not keep; without it, all. Running it
    again does nothing.
    """
    with beginning(correction) as (known, journal):
        assert journal is not None  # a path has one
        every = _merged((*known.exports, *journal.read()))
        chosen = [each for each in every if to is None or each.origin == _origin(to)]
        if to is not None and every and not chosen:
            origins = ", ".join(sorted({each.origin for each in every}))
            raise InputError(f"nothing was exported to {_origin(to)}; this file knows of {origins}.")
        absent: set[tuple[str, str | None]] = set()
        for origin in dict.fromkeys(each.origin for each in chosen):
            gone = _take_back([each for each in chosen if each.origin == origin], to or origin, every)
            absent |= {(origin, place) for place in gone}
        if any(each in known.exports for each in chosen):
            left = tuple(each for each in known.exports if each not in chosen)
            replace(known, exports=left).save(correction)
        for each in chosen:
            journal.forget(each)
    return RolledBack(tuple(chosen), frozenset(absent))


def _merged(exports: tuple[Export, ...]) -> list[Export]:
    """Each place once, as the file knows it rather than as it was noted when it was begun."""
    found: dict[tuple[str, str | None], Export] = {}
    for each in exports:
        found.setdefault((each.origin, each.place), each)
    return list(found.values())


def _origin(to: str) -> str:
    with closing(open_store(to)) as collection:
        return collection.url


def _take_back(exports: list[Export], url: str, every: list[Export]) -> list[str]:
    """Points aliases back first, so that nobody searches what is about to go; then removes what was written.

    Gives back the places that were not there.
    """
    absent = []
    with closing(open_store(url)) as collection:
        places = {each.place for each in exports}
        for alias in dict.fromkeys(each.alias for each in exports if each.alias is not None):
            if collection.alias(alias) in places:
                before = alias_before(collection, alias, every)
                there = before is not None and collection.sibling(before).exists()
                collection.point(alias, before if there else None)
        for each in exports:
            if each.place is not None:
                with closing(corrected_place(collection, each.place, each.layout)) as place:
                    if not place.exists():
                        absent.append(each.place)
                    place.drop()  # also what is not yet a place, such as a waiting table
    return absent
