"""Milvus: a server at ``milvus://host:19530/photos``, or a file of Milvus Lite at ``milvus:///absolute/file.db/photos``
and ``milvus://./file.db/photos``.

The token of a server comes from ``token=`` in the address, from its user and password, or from the environment variable
MILVUS_TOKEN. ``ef=``, ``nprobe=`` and ``search_list=`` go to every search, here and in what is made beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import CollectionBase, are_unit
from unhub.stores.address import Address
from unhub.stores.milvus.building import count, flush, load, make, put_to_use, put_to_use_in_file
from unhub.stores.milvus.connection import Connection
from unhub.stores.milvus.rows import (
    SEARCHED_WITH,
    block_of,
    expression,
    first_vectors,
    literal,
    pages,
    search,
    search_params,
    turned_by,
    write,
)
from unhub.stores.milvus.shape import MARK, QUANTISERS, Shape, read
from unhub.stores.protocol import BLOCK, Abilities, Block, Collection, Description, Metric, SearchResults

Made = TypeVar("Made")


def open_collection(address: Address) -> MilvusCollection:
    """The collection at an address; nothing is connected yet."""
    address.allow("database", "vector", "timeout", "tls", *SEARCHED_WITH)
    return MilvusCollection(address, Connection(address))


class MilvusCollection(CollectionBase):
    """One collection of a server or of a file, through a client that its siblings share."""

    kind = "milvus"
    longest_name = 255
    keeps_effort = False
    abilities = Abilities(("augment", "constant_norm", "rerank"), aliases=True, exact=False, items_per_second=8_000)

    def __init__(self, address: Address, connection: Connection) -> None:
        super().__init__(address)
        self.connection = connection
        self.timeout = connection.timeout
        self._shape: Shape | None = None
        self._effort = 1.0
        self._new = False
        self._loaded_here = False

    @property
    def client(self) -> Any:
        """The client of pymilvus."""
        return self.connection.client

    def exists(self) -> bool:
        """Whether the collection is there."""
        with self.connection.doing(self.address, "cannot be reached"):
            return self.connection.there and bool(self.client.has_collection(self.name, timeout=self.timeout))

    def describe(self) -> Description:
        """Metric, dimension, count, index, as they are now, after all that was written before."""
        with self.connection.doing(self.address, "cannot be described"):
            shape = self._ready(again=True)
            rows = count(self.client, self.name, self.timeout)
            unit = are_unit(first_vectors(self.client, self.name, shape, self.timeout))
            return Description(
                self.url, shape.metric, shape.dim, rows, shape.kind, shape.exact, shape.dtype, unit,
                graph=shape.kind.startswith("hnsw"), quantiser=QUANTISERS.get(shape.kind),
            )  # fmt: skip

    def scan(self, block: int = BLOCK) -> Iterator[Block]:
        """Every item once, by rising id; what is written meanwhile may be among them or not."""
        yield from self._pages(block, lambda shape: ["*"], block_of)

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids alone, in the order of ``scan``."""
        yield from self._pages(
            block, lambda shape: [shape.key], lambda rows, shape: [str(row[shape.key]) for row in rows]
        )

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best of each query; the filter is an expression of Milvus, or one with {names} and their values."""
        if exact:
            raise InputError(
                f"{self.address}: Milvus has no exact search past an index; leave exact out, "
                "or search a collection whose index is FLAT."
            )
        within = expression(filter)
        with self.connection.doing(self.address, "cannot be searched"):
            shape = self._ready()
            params = search_params(self.address, shape.kind, k, self._effort)
            return search(self.client, self.address, self.name, shape, queries, k, within, self.timeout, params)

    def raise_effort(self, factor: float) -> bool:
        """Has searches look at more: a larger ef, nprobe or search_list."""
        with self.connection.doing(self.address, "cannot be searched"):
            if turned_by(self._ready().kind) is None:
                return False
        self._effort *= factor
        return True

    def sibling(self, name: str) -> MilvusCollection:
        """Another collection through the same client."""
        before = self.address.path.rstrip("/").rpartition("/")[0]
        return MilvusCollection(replace(self.address, path=f"{before}/{name}"), self.connection)

    def made_by_unhub(self) -> bool:
        """Whether a property of the collection says so, with the name that it has."""
        if not self.exists():
            return False
        with self.connection.doing(self.address, "cannot be described"):
            told = self.client.describe_collection(self.name, timeout=self.timeout)
        mine = str((told.get("properties") or {}).get(MARK)) == self.name
        return mine and str(told["collection_name"]) == self.name

    def create(self, like: Collection, dim: int, metric: Metric) -> None:
        """Makes it with the fields and the indexes of ``like``, and loads it, so that it can be read and searched."""
        if not isinstance(like, MilvusCollection):
            raise InputError(f"{self.address} can be made like a collection of Milvus only, not like {like.url}.")
        with like.connection.doing(like.address, "cannot be described"):
            origin = read(like.client, like.address, like.name, like.timeout)
        with self.connection.doing(self.address, "cannot be made"):
            self._new = not self.client.has_collection(self.name, timeout=self.timeout)
            make(self.client, self.name, origin, dim, metric, self.timeout)
            self._shape = None

    def upsert(self, block: Block) -> None:
        """Writes items with their vectors and the rest; one that is there is replaced whole."""
        with self.connection.doing(self.address, "cannot be written"):
            shape = self._ready()
            send = self.client.insert if self.connection.insert_replaces else self.client.upsert
            write(lambda rows: send(self.name, rows, timeout=self.timeout), block, shape)

    def delete(self, ids: Sequence[str]) -> None:
        """Takes items out."""
        with self.connection.doing(self.address, "cannot be written"):
            shape = self._ready()
            own = [shape.own_id(each) for each in ids]
            for start in range(0, len(own), BLOCK):
                some = f"{shape.key} in {literal(own[start : start + BLOCK])}"
                self.client.delete(self.name, filter=some, timeout=self.timeout)

    def finish(self) -> None:
        """Flushes, waits until Milvus has built the indexes of all that was written, and until searches see it."""
        with self.connection.doing(self.address, "cannot be finished"):
            flush(self.client, self.name, self.timeout)
            shape = self._ready()
            if not shape.exact and self.connection.file is None:
                put_to_use(self.client, self.name, self.timeout, anew=self._new)
            elif not shape.exact:
                put_to_use_in_file(self.client, self.name, self.timeout, anew=self._new)
            count(self.client, self.name, self.timeout)

    def drop(self) -> None:
        """Removes the collection."""
        with self.connection.doing(self.address, "cannot be dropped"):
            if self.connection.there and self.client.has_collection(self.name, timeout=self.timeout):
                self.client.drop_collection(self.name, timeout=self.timeout)
            self._shape, self._loaded_here = None, False

    def alias(self, name: str) -> str | None:
        """The collection that an alias points to."""
        with self.connection.doing(self.address, f"cannot say where the alias {name} points"):
            if not self.client.has_collection(name, timeout=self.timeout):
                return None
            found = str(self.client.describe_collection(name, timeout=self.timeout)["collection_name"])
            return None if found == name else found

    def set_alias(self, name: str, collection: str | None) -> None:
        """Points an alias at a collection, or takes it away."""
        now = self.alias(name)
        with self.connection.doing(self.address, f"cannot move the alias {name}"):
            if collection is None and now is not None:
                self.client.drop_alias(name, timeout=self.timeout)
            elif collection is not None and now != collection:
                move = self.client.create_alias if now is None else self.client.alter_alias
                move(collection, name, timeout=self.timeout)

    def close(self) -> None:
        """Lets go of the connection; a collection that was loaded only to be read is released."""
        if self._loaded_here:
            self._loaded_here = False
            with suppress(StoreError), self.connection.doing(self.address, "cannot be released"):
                self.client.release_collection(self.name, timeout=self.timeout)
        self._shape = None
        self.connection.close()

    def _pages(
        self, block: int, fields: Callable[[Shape], list[str]], made: Callable[[list[Any], Shape], Made]
    ) -> Iterator[Made]:
        """What is made of each page of rows."""
        with self.connection.doing(self.address, "cannot be read"):
            shape = self._ready(again=True)
            count(self.client, self.name, self.timeout)  # waits until all that was written can be read
        found = pages(self.client, self.name, shape, fields(shape), block, self.timeout)
        while True:
            with self.connection.doing(self.address, "cannot be read"):
                rows = next(found, None)
                if rows is None:
                    return
                page = made(rows, shape)
            yield page

    def _ready(self, *, again: bool = False) -> Shape:
        """The shape, as it was when last looked at or as it is; the collection is loaded if it was not."""
        if again or self._shape is None:
            self._shape = read(self.client, self.address, self.name, self.timeout)
            self._loaded_here = load(self.client, self.name, self.timeout) or self._loaded_here
        return self._shape
