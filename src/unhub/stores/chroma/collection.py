"""Chroma collections, of a server or in a folder.

Chroma gives distances: l2 is the squared Euclidean distance, ip is 1 - q.t, cosine is 1 - cos(q, t). Its index is
always a graph (HNSW; SPANN in its cloud), so no search is certain to be exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from unhub.foundation.errors import StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import Collection, LazyModule, results_of
from unhub.stores.address import Address
from unhub.stores.chroma import items
from unhub.stores.chroma.client import Connection, checked, no_store
from unhub.stores.interface import BLOCK, Abilities, Block, Description, Metric, SearchResults

T = TypeVar("T")
errors = LazyModule("chromadb.errors", extra="chroma")
LISTED = 50_000  # ids that a scan reads at once
READ = 2**21  # numbers that are read at once: the client makes a Python float of each
QUERIES = 1024  # in one request: with a rare filter each can take tens of milliseconds


def open_collection(address: Address) -> Collection:
    """The collection at an address; the client is made when it is first used."""
    address = checked(address)
    return ChromaCollection(address, Connection(address))


class ChromaCollection(Collection):
    """One collection of Chroma."""

    kind: ClassVar[str] = "chroma"
    abilities = Abilities(strategies=("augment", "constant_norm", "rerank"), exact=False)
    longest_name = 512

    def __init__(self, address: Address, connection: Connection) -> None:
        super().__init__(address)
        self.connection = connection
        self._known: tuple[Any, Any] | None = None  # the client and its object for this collection

    def sibling(self, name: str) -> Collection:
        """Another collection of the same database."""
        return ChromaCollection(self.address.beside(name), self.connection)

    def close(self) -> None:
        """Closes the client."""
        self._known = None
        self.connection.close()

    def _exists(self) -> bool:
        if no_store(self.address):
            return False
        try:
            self._look_up()
        except errors.NotFoundError:
            self._known = None
            return False
        return True

    def _describe(self) -> Description:
        return items.description(self._look_up(), self.url)

    def _scan(self, block: int) -> Iterator[Block]:
        # In the order of the first writes. Pages of whole items would skip some if others were deleted meanwhile.
        ids = [each for page in self._ids(LISTED) for each in page]
        dim = items.dimension(self._look_up())
        rows = min(block, self._batch(), max(1, READ // max(1, dim)))
        for start in range(0, len(ids), rows):
            some = self._ask(items.read, ids[start : start + rows])
            if some is None:
                raise self._changed()
            yield some

    def _ids(self, block: int) -> Iterator[list[str]]:
        seen: set[str] = set()
        for offset in itertools.count(0, block):
            page = self._ask(items.page, block, offset)
            if not seen.isdisjoint(page):
                raise self._changed()
            seen.update(page)
            if page:
                yield page
            if len(page) < block:
                return

    def _search(self, queries: FloatArray, k: int, filter: Any, exact: bool) -> SearchResults:
        rows = np.ascontiguousarray(queries, dtype=np.float32)
        where = items.where(self.url, filter)
        hits: list[tuple[list[str], FloatArray]] = []
        step = min(QUERIES, items.vectors_per_request(rows.shape[1], items.QUERY_BYTES))
        for start in range(0, len(rows), step):
            hits += self._ask(items.neighbours, rows[start : start + step], k, where)
        return results_of(hits, k)

    def _marked(self) -> bool:
        return self._ask(items.marked)

    def _create(self, like: ChromaCollection, dim: int, metric: Metric) -> None:
        if not self._exists():
            settings = like._ask(items.settings_like, dim, metric)
            self.connection.client.get_or_create_collection(self.name, **settings, embedding_function=None)

    def _upsert(self, block: Block) -> None:
        self._ask(items.replace_items, block, self._batch())

    def _delete(self, ids: Sequence[str]) -> None:
        batch = self._batch()
        for start in range(0, len(ids), batch):
            self._ask(lambda chroma, some: chroma.delete(ids=some), list(ids[start : start + batch]))

    def _finish(self) -> None:
        self._ask(lambda chroma: chroma.count())  # after a restart, Chroma now indexes what it had not saved

    def _drop(self) -> None:
        if self._exists():
            self.connection.client.delete_collection(self.name)
        self._known = None

    def _ask(self, act: Callable[..., T], *rest: Any) -> T:
        """What ``act`` returns for the client's object, which is looked up again if the collection was replaced."""
        client = self.connection.client
        if self._known is not None and self._known[0] is client:
            try:
                return act(self._known[1], *rest)
            except errors.NotFoundError:
                self._known = None
        return act(self._look_up(), *rest)

    def _look_up(self) -> Any:
        # Without an embedding function Chroma loads no model, whatever the collection was made with.
        client = self.connection.client
        self._known = client, client.get_collection(self.name, embedding_function=None)
        return self._known[1]

    def _batch(self) -> int:
        """How many items the store takes at once."""
        most = int(self.connection.client.get_max_batch_size())
        return most if most > 0 else BLOCK

    def _changed(self) -> StoreError:
        return StoreError(f"{self.url} changed while it was read; run the same again when nobody deletes from it.")
