"""Chroma collections, of a server or in a folder.

Chroma speaks distance: l2 is the squared Euclidean distance, ip is 1 - q.t, cosine is 1 - cos(q, t); here all are
turned into similarities. Its index is always a graph (HNSW; SPANN in its cloud), so that no search is surely exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.address import Address
from unhub.stores.chroma import items
from unhub.stores.chroma.client import checked
from unhub.stores.chroma.handle import Connection, Handle
from unhub.stores.protocol import BLOCK, Abilities, Block, Collection, Description, Found, Metric

LISTED = 50_000
"""ids that a scan asks for at once"""
READ = 2**21
"""numbers that are read at once: the client makes a Python float of each"""
ASKED = 1024
"""queries in one request: a rare filter can make each take tens of milliseconds"""
LONGEST_NAME = 512
ABILITIES = Abilities(forms=("augment", "constant_norm", "rerank"), exact=False)


def open_collection(address: Address) -> Collection:
    """The collection at an address; the client is made when it is first used."""
    whole = checked(address)
    return ChromaCollection(Handle(whole, Connection(whole)))


@dataclass
class ChromaCollection:
    """One collection of Chroma."""

    kind: ClassVar[str] = "chroma"
    handle: Handle
    abilities: Abilities = field(default=ABILITIES, repr=False)

    @property
    def url(self) -> str:
        """Where it is."""
        return str(self.handle.address)

    @property
    def name(self) -> str:
        """Its name within the database."""
        return self.handle.address.parts[1]

    def exists(self) -> bool:
        """Whether it is there."""
        return self.handle.exists()

    def describe(self) -> Description:
        """What it is now."""
        self.handle.forget()
        return self.handle.ask("cannot be described", items.description, self.url)

    def scan(self, block: int = BLOCK) -> Iterator[Block]:
        """Every item once, in the order in which they were first written.

        The ids are listed first, then read: pages of whole items would skip some if others were taken out meanwhile.
        """
        listed = [each for page in self.ids(LISTED) for each in page]
        self.handle.forget()
        dim = self.handle.ask("cannot be read", items.dimension)
        rows = min(block, self.handle.batch(), max(1, READ // max(1, dim)))
        for start in range(0, len(listed), rows):
            some = self.handle.ask("cannot be read", items.read, listed[start : start + rows])
            if some is None:
                raise self._changed()
            yield some

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids alone."""
        seen: set[str] = set()
        for offset in itertools.count(0, block):
            page = self.handle.ask("cannot be read", items.page, block, offset)
            if not seen.isdisjoint(page):
                raise self._changed()
            seen.update(page)
            if page:
                yield page
            if len(page) < block:
                return

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> Found:
        """The k most similar by Chroma's graph; ``filter`` is a where, or {"where": ..., "where_document": ...}."""
        if exact:
            raise InputError(f"{self.url}: Chroma always searches by its graph; leave out exact=True.")
        asked = np.ascontiguousarray(queries, dtype=np.float32)
        narrowed = items.narrowing(self.url, filter)
        ids = np.full((len(asked), k), None, dtype=object)
        scores = np.full((len(asked), k), -np.inf, dtype=np.float32)
        rows = min(ASKED, items.fitting(asked.shape[1], items.ASKED))
        for start in range(0, len(asked), rows):
            some = asked[start : start + rows]
            metric, *answer = self.handle.ask("cannot be searched", items.neighbours, some, k, narrowed)
            for row, (found, distances) in enumerate(zip(*answer, strict=True), start):
                ids[row, : len(found)] = found
                scores[row, : len(found)] = items.similarities(metric, distances)
        return Found(ids, scores)

    def derived(self, tag: str) -> str:
        """The name of a collection made from this one."""
        ending = f"_unhub_{tag}"
        return self.name[: LONGEST_NAME - len(ending)] + ending

    def sibling(self, name: str) -> Collection:
        """Another collection of the same database."""
        return ChromaCollection(self.handle.beside(name))

    def made_by_unhub(self) -> bool:
        """Whether the collection's metadata says so."""
        self.handle.forget()
        return self.exists() and self.handle.ask("cannot be described", items.marked)

    def create(self, like: Collection, dim: int, metric: Metric) -> None:
        """Makes it with the graph (a little wider) and the metadata of ``like``; all keys of items are indexed."""
        if self.exists():
            return
        same = cast(ChromaCollection, like).handle.ask("cannot be described", items.made_like, dim, metric)
        self.handle.ask_client("cannot be created", _create, self.name, same)

    def put(self, block: Block) -> None:
        """Writes items; they are in the graph when this comes back."""
        self.handle.ask("cannot be written", items.replace_items, block, self.handle.batch())

    def delete(self, ids: Sequence[str]) -> None:
        """Takes items out; the graph keeps their places and goes through them until it is made anew."""
        batch = self.handle.batch()
        for start in range(0, len(ids), batch):
            self.handle.ask("cannot be changed", _delete, list(ids[start : start + batch]))

    def finish(self) -> None:
        """Makes sure that all is in the graph: a store that was opened anew first takes up what was not saved."""
        self.handle.ask("cannot be finished", lambda chroma: chroma.count())

    def drop(self) -> None:
        """Removes it."""
        if self.exists():
            self.handle.ask_client("cannot be removed", _drop, self.name)
        self.handle.forget()

    def alias(self, name: str) -> str | None:
        """None: Chroma has no aliases."""
        return None

    def point(self, name: str, collection: str | None) -> None:
        """Refuses: Chroma has no aliases."""
        raise InputError(f"{self.url}: Chroma has no aliases; search the new collection by its own name.")

    def close(self) -> None:
        """Lets go of the client; it is opened again if it is needed."""
        self.handle.forget()
        self.handle.connection.close()

    def _changed(self) -> StoreError:
        return StoreError(f"{self.url} changed while it was read; run the same again when nothing is taken out of it.")


def _delete(chroma: Any, ids: list[str]) -> None:
    chroma.delete(ids=ids)


def _create(client: Any, name: str, same: dict[str, Any]) -> None:
    client.get_or_create_collection(name, **same, embedding_function=None)


def _drop(client: Any, name: str) -> None:
    client.delete_collection(name)
