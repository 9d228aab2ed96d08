"""``rollback``: what exports have written is taken away again, and aliases point where they did."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import Any

from unhub.deploy.aliases import alias_before, point_back
from unhub.deploy.destinations import owned_index, without_effort
from unhub.deploy.journal import exclusive_journal
from unhub.foundation.errors import InputError
from unhub.foundation.wording import setting
from unhub.stores import Collection, Export, open_store, parse

_LISTED = 5


@dataclass(frozen=True)
class RollbackResult:
    """What was taken back: the exports, finished or begun, of a correction file."""

    exports: tuple[Export, ...]
    absent: frozenset[str | None] = frozenset()
    """places of those that were not there any more, or not yet"""
    aliases: Mapping[str, str | None] = field(default_factory=dict)
    """where each alias of the exports points now; None if it is gone"""

    def removed(self, export: Export) -> str | None:
        """The place of one of the exports, if it was there to be removed."""
        return None if export.destination in self.absent else export.destination

    def to_dict(self) -> list[dict[str, Any]]:
        """What was removed, as JSON can hold it."""
        return [
            {
                "store": each.origin,
                "removed": self.removed(each),
                "alias": each.alias,
                "alias_now": self.aliases.get(each.alias) if each.alias is not None else None,
            }
            for each in self.exports
        ]


def rollback(correction: str | os.PathLike[str], *, to: str | None = None) -> RollbackResult:
    """Removes every export to one store that the file knows of; what was there before the first serves again.

    Only what unhub has named and marked in the store is removed. Running it again does nothing.

    correction: the path of the file that was exported.
    to: the address of the store, with its password if it needs one. The address in the file is never connected to
        unless it is named here, since files can be forged; without ``to`` an error lists what the file knows of.
    """
    with exclusive_journal(correction) as (known, journal):
        assert journal is not None  # a path has one
        every = _merged((*known.exports, *journal.read()))
        if not every:
            return RollbackResult(())
        if to is None:
            raise InputError(
                f"{os.fspath(correction)} was exported to {_listed(every)}; name the store to roll back with "
                f"{setting('to', 'ADDRESS')}, since a file alone does not make unhub connect anywhere."
            )
        with closing(open_store(to)) as collection:
            chosen = [each for each in every if _canonical(each.origin) == collection.url]
            if not chosen:
                raise InputError(
                    "to", f"is {collection.url}, where nothing was exported to", f"this file knows of {_listed(every)}"
                )
            result = _take_back(collection, chosen, every)
        if any(each in known.exports for each in chosen):
            left = tuple(each for each in known.exports if each not in chosen)
            replace(known, exports=left).save(correction)
        for each in chosen:
            journal.forget(each)
    return result


def _merged(exports: tuple[Export, ...]) -> list[Export]:
    """Each place once, as the file knows it rather than as it was noted when it was begun."""
    merged: dict[tuple[str, str | None], Export] = {}
    for each in exports:
        merged.setdefault((each.origin, each.destination), each)
    return list(merged.values())


def _canonical(origin: str) -> str:
    """An address as unhub writes it, without any secret."""
    try:
        return str(parse(origin))
    except InputError:
        return "an address that cannot be read"


def _listed(exports: list[Export]) -> str:
    origins = sorted({_canonical(each.origin) for each in exports})
    more = f" and {len(origins) - _LISTED} more" if len(origins) > _LISTED else ""
    return f"{', '.join(origins[:_LISTED])}{more}"


def _take_back(collection: Collection, exports: list[Export], every: list[Export]) -> RollbackResult:
    """Points aliases back first, so that nobody searches what is about to go; then removes what was written.

    Every place is looked at before anything is changed.
    """
    with ExitStack() as opened:
        indexes = {
            each.destination: opened.enter_context(closing(owned_index(collection, without_effort(each))))
            for each in exports
            if each.destination is not None
        }
        absent = frozenset(name for name, index in indexes.items() if not index.exists())
        aliases = dict.fromkeys(each.alias for each in exports if each.alias is not None)
        for alias in aliases:
            if collection.alias(alias) in indexes:
                point_back(collection, alias, alias_before(collection, alias, every))
            aliases[alias] = collection.alias(alias)
        for index in indexes.values():
            index.drop()  # also what is not yet an index, such as a spool
    return RollbackResult(tuple(exports), absent, aliases)
