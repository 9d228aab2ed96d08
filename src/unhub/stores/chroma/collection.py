"""Chroma collections, of a server or in a folder.

Chroma speaks distance: l2 is the squared Euclidean distance, ip is 1 - q.t, cosine is 1 - cos(q, t); here all are
turned into similarities. Its index is always a graph (HNSW; SPANN in its cloud), so that no search is surely exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, cast

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import CollectionBase, results_of
from unhub.stores.address import Address
from unhub.stores.chroma import items
from unhub.stores.chroma.client import Connection, Handle, checked
from unhub.stores.protocol import BLOCK, Abilities, Block, Collection, Description, Metric, SearchResults

LISTED = 50_000
"""ids that a scan asks for at once"""
READ = 2**21
"""numbers that are read at once: the client makes a Python float of each"""
ASKED = 1024
"""queries in one request: a rare filter can make each take tens of milliseconds"""


def open_collection(address: Address) -> Collection:
    """The collection at an address; the client is made when it is first used."""
    whole = checked(address)
    return ChromaCollection(Handle(whole, Connection(whole)))


class ChromaCollection(CollectionBase):
    """One collection of Chroma."""

    kind: ClassVar[str] = "chroma"
    abilities = Abilities(strategies=("augment", "constant_norm", "rerank"), exact=False)
    longest_name = 512

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle.address)
        self.handle = handle

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

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k most similar by Chroma's graph; ``filter`` is a where, or {"where": ..., "where_document": ...}."""
        if exact:
            raise InputError(f"{self.url}: Chroma always searches by its graph; leave out exact=True.")
        asked = np.ascontiguousarray(queries, dtype=np.float32)
        narrowed = items.narrowing(self.url, filter)
        hits: list[tuple[list[str], FloatArray]] = []
        rows = min(ASKED, items.fitting(asked.shape[1], items.ASKED))
        for start in range(0, len(asked), rows):
            some = asked[start : start + rows]
            metric, *answer = self.handle.ask("cannot be searched", items.neighbours, some, k, narrowed)
            hits += [(ids, items.similarities(metric, distances)) for ids, distances in zip(*answer, strict=True)]
        return results_of(hits, k)

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
        self.handle.ask_client(
            "cannot be created",
            lambda client: client.get_or_create_collection(self.name, **same, embedding_function=None),
        )

    def upsert(self, block: Block) -> None:
        """Writes items; they are in the graph when this comes back."""
        self.handle.ask("cannot be written", items.replace_items, block, self.handle.batch())

    def delete(self, ids: Sequence[str]) -> None:
        """Takes items out; the graph keeps their places and goes through them until it is made anew."""
        batch = self.handle.batch()
        for start in range(0, len(ids), batch):
            self.handle.ask("cannot be changed", items.delete, list(ids[start : start + batch]))

    def finish(self) -> None:
        """Makes sure that all is in the graph: a store that was opened anew first takes up what was not saved."""
        self.handle.ask("cannot be finished", lambda chroma: chroma.count())

    def drop(self) -> None:
        """Removes it."""
        if self.exists():
            self.handle.ask_client("cannot be removed", lambda client: client.delete_collection(self.name))
        self.handle.forget()

    def close(self) -> None:
        """Lets go of the client; it is opened again if it is needed."""
        self.handle.forget()
        self.handle.connection.close()

    def _changed(self) -> StoreError:
        return StoreError(f"{self.url} changed while it was read; run the same again when nothing is taken out of it.")
