"""``rollback``: what exports have written is removed, and aliases point where they did before."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import Any

from unhub.api.facade import facade
from unhub.deploy.destinations import alias_before, owned_index, restore_alias, without_effort
from unhub.deploy.journal import exclusive_journal
from unhub.foundation.errors import InputError
from unhub.foundation.wording import setting
from unhub.stores import Collection, Export, open_store, parse

_LISTED = 5


@dataclass(frozen=True)
class RollbackResult:
    """The exports of a correction file, finished or not, that were rolled back."""

    exports: tuple[Export, ...]
    absent: frozenset[str | None] = frozenset()
    """destinations that no longer existed, or not yet"""
    aliases: Mapping[str, str | None] = field(default_factory=dict)
    """where each alias of the exports points now; None if it is gone"""

    def removed(self, export: Export) -> str | None:
        """The destination of one of the exports, if it was removed."""
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


@facade
def rollback(correction: str | os.PathLike[str], *, to: str | None = None) -> RollbackResult:
    """Removes every export to one store that the file records; the original collection serves again.

    Only what unhub named and marked in the store is removed. Running it again does nothing.

    correction: the path of the file that was exported.
    to: the address of the store, with its password if it needs one. The address in the file is never connected to
        unless it is named here, since files can be forged; without ``to`` an error lists the recorded stores.

    Returns a RollbackResult: the exports, which of them did not exist, and where their aliases point now.
    """
    with exclusive_journal(correction) as (known, journal):
        assert journal is not None  # a path has one
        begun = {each.location: each for each in journal.read()}
        every = list((begun | {each.location: each for each in known.exports}).values())  # as the file records them
        if not every:
            return RollbackResult(())
        if to is None:
            raise InputError(
                f"{os.fspath(correction)} was exported to {_listed(every)}; name the store to roll back with "
                f"{setting('to', 'ADDRESS')}, since a file alone cannot make unhub connect anywhere."
            )
        with closing(open_store(to)) as collection:
            chosen = [each for each in every if _canonical(each.origin) == collection.url]
            if not chosen:
                raise InputError(
                    "to", f"is {collection.url}, where nothing was exported to", f"this file knows of {_listed(every)}"
                )
            result = _remove(collection, chosen, every)
        if any(each in known.exports for each in chosen):
            left = tuple(each for each in known.exports if each not in chosen)
            replace(known, exports=left).save(correction)
        for each in chosen:
            journal.forget(each)
    return result


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


def _remove(collection: Collection, exports: list[Export], every: list[Export]) -> RollbackResult:
    """Restores aliases first, so that nobody searches what is about to go; then removes what was written.

    Every destination is checked before anything changes.
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
                restore_alias(collection, alias, alias_before(collection, alias, every))
            aliases[alias] = collection.alias(alias)
        for index in indexes.values():
            index.drop()  # also what is not yet an index, such as a spool
    return RollbackResult(tuple(exports), absent, aliases)
