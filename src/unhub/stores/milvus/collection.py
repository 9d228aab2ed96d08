"""Milvus: a server at ``milvus://host:19530/photos``, or a file of Milvus Lite at ``milvus:///absolute/file.db/photos``
and ``milvus://./file.db/photos``.

The token of a server comes from ``token=`` in the address, from its user and password, or from the environment variable
MILVUS_TOKEN. ``ef=``, ``nprobe=`` and ``search_list=`` apply to every search, also of collections made beside this one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from unhub.foundation.errors import StoreError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import Collection, are_unit, checked_queries, results_of
from unhub.stores.address import Address
from unhub.stores.interface import BLOCK, Abilities, Block, Description, Metric, SearchResults
from unhub.stores.milvus import rows
from unhub.stores.milvus.connection import Connection, with_token
from unhub.stores.milvus.shape import EFFORT_OPTIONS, MARK, Shape, shape_of

QUERIES = 1024  # in one request
INDEXED = 1024  # rows from which on Milvus gives a segment an index
PAUSE = 0.1  # seconds between two looks at what Milvus does in its own time
SETTLES = 3.0  # seconds after which Milvus Lite uses a new index, by observation
SAMPLE = 256  # vectors that are checked for unit length


def open_collection(address: Address) -> MilvusCollection:
    """The collection at an address; nothing is connected yet."""
    address.allow("database", "vector", "timeout", "tls", *EFFORT_OPTIONS)
    address = with_token(address)
    return MilvusCollection(address, Connection(address))


class MilvusCollection(Collection):
    """One collection of a server or of a file, through a client that its siblings share.

    A filter is an expression of Milvus, or one with {names} and their values.
    """

    kind = "milvus"
    longest_name = 255
    abilities = Abilities(("augment", "constant_norm", "rerank"), aliases=True, exact=False, items_per_second=8_000)

    def __init__(self, address: Address, connection: Connection) -> None:
        super().__init__(address)
        self.connection = connection
        self._shape: Shape | None = None
        self._new = False
        self._loaded_here = False

    def sibling(self, name: str) -> MilvusCollection:
        """Another collection through the same client."""
        return MilvusCollection(self.address.beside(name), self.connection)

    def close(self) -> None:
        """Closes the connection; a collection that was loaded only to be read is released."""
        if self._loaded_here:
            self._loaded_here = False
            with suppress(StoreError), self.errors("cannot be released"):
                self._call("release_collection")
        self._shape = None
        self.connection.close()

    @contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """``guarded``, and the client does not log what it raises."""
        with self.connection.quiet(), super().errors(doing):
            yield

    def _exists(self) -> bool:
        return self.connection.file_exists and bool(self._call("has_collection"))

    def _describe(self) -> Description:
        shape = self._ready(again=True)
        unit = are_unit(rows.vectors_of(self._page(shape, [shape.vector], SAMPLE), shape))
        return Description(
            self.url, shape.metric, shape.dim, self._count(), shape.index_type, shape.exact, shape.dtype, unit,
            graph=shape.kind.graph, quantiser=shape.kind.quantiser,
        )  # fmt: skip

    def _scan(self, block: int) -> Iterator[Block]:
        for page, shape in self._pages(block, lambda shape: ["*"]):
            yield rows.block_of(page, shape)

    def _ids(self, block: int) -> Iterator[list[str]]:
        for page, shape in self._pages(block, lambda shape: [shape.key]):
            yield [str(row[shape.key]) for row in page]

    def _search(self, queries: FloatArray, k: int, filter: Any, exact: bool) -> SearchResults:
        within = rows.expression(filter)
        shape = self._ready()
        params = {"params": rows.search_params(self.address, shape.kind, k, self._effort)}
        vectors = checked_queries(self.url, queries, shape.dim).astype(shape.dtype, copy=False)
        hits: list[Any] = []
        sign = -1 if shape.metric == "l2" else 1  # Milvus's distance is already the square
        for start in range(0, len(vectors), QUERIES):
            hits += self._call(
                "search", list(vectors[start : start + QUERIES]), filter=within, limit=k, anns_field=shape.vector,
                output_fields=[shape.key], search_params=params,
            )  # fmt: skip
        return results_of([(each.ids, sign * np.asarray(each.distances)) for each in hits], k)

    def _tunable(self) -> bool:
        return self._ready().kind.effort is not None

    def _marked(self) -> bool:
        fields = self._call("describe_collection")
        return str((fields.get("properties") or {}).get(MARK)) == str(fields["collection_name"]) == self.name

    def _create(self, like: MilvusCollection, dim: int, metric: Metric) -> None:
        # What an interrupted run left undone is made now; the collection is loaded, so that it can be read.
        with like.errors("cannot be read"):
            origin = like._read_shape()
        self._new = not self._call("has_collection")
        if self._new:
            self._call("create_collection", schema=origin.schema(dim), **origin.settings(self.name))
        existing = {each["index_name"] for each in self._indexes()}
        missing = self.connection.client.prepare_index_params()
        for each in origin.index_settings(dim, metric):
            if each["index_name"] not in existing:
                missing.add_index(**each)
        if missing:
            self._call("create_index", missing, sync=False)
        self._load()
        self._shape = None

    def _upsert(self, block: Block) -> None:
        shape, method = self._ready(), "insert" if self.connection.insert_replaces else "upsert"
        rows.write(lambda some: self._call(method, some), block, shape)

    def _delete(self, ids: Sequence[str]) -> None:
        shape = self._ready()
        own = [shape.own_id(each) for each in ids]
        for start in range(0, len(own), BLOCK):
            self._call("delete", filter=f"{shape.key} in {rows.literal(own[start : start + BLOCK])}")

    def _finish(self) -> None:
        """Flushes, waits until the indexes hold all that was written, and until searches use them."""
        self._call("flush")
        while rows.unbuilt(self._indexes()):
            time.sleep(PAUSE)
        if not self._ready().exact:
            self._put_to_use()
        self._count()

    def _put_to_use(self) -> None:
        """Waits until searches use the index.

        A server loads a new index some 15 s later and meanwhile answers by a makeshift one, which misses more. Milvus
        Lite cannot tell what it uses. A collection that nobody uses yet is loaded again, which is faster.
        """
        lite, fresh = self.connection.file is not None, self._new
        if fresh and (lite or not self._in_use()):
            self._call("release_collection")
            self._load()
        elif lite:
            time.sleep(SETTLES)
        began = time.monotonic()
        while not lite and not self._in_use() and time.monotonic() - began < self.connection.timeout:
            time.sleep(PAUSE)

    def _in_use(self) -> bool:
        """Whether every segment that is large enough for an index is loaded with one."""
        loaded = self._call("list_loaded_segments")
        indexed = all(each.index_name or each.num_rows < INDEXED for each in loaded)
        return indexed and sum(each.num_rows for each in loaded) >= self._count()

    def _drop(self) -> None:
        if self._exists():
            self._call("drop_collection")
        self._shape, self._loaded_here = None, False

    def _alias(self, name: str) -> str | None:
        other = self.sibling(name)
        if not other._call("has_collection"):
            return None
        target = str(other._call("describe_collection")["collection_name"])
        return None if target == name else target

    def _set_alias(self, name: str, collection: str | None) -> None:
        client, timeout, now = self.connection.client, self.connection.timeout, self._alias(name)
        if collection is None and now is not None:
            client.drop_alias(name, timeout=timeout)
        elif collection is not None and now != collection:
            (client.create_alias if now is None else client.alter_alias)(collection, name, timeout=timeout)

    def _call(self, method: str, *args: Any, **options: Any) -> Any:
        """One call of the client about this collection."""
        return getattr(self.connection.client, method)(self.name, *args, timeout=self.connection.timeout, **options)

    def _count(self) -> int:
        """How many rows there are after every write before this call; whoever reads next sees them too."""
        answer = self._call("query", filter="", output_fields=["count(*)"], consistency_level="Strong")
        return int(answer[0]["count(*)"])

    def _pages(self, block: int, fields: Callable[[Shape], list[str]]) -> Iterator[tuple[list[Any], Shape]]:
        """The rows by rising id, in pages that Milvus can send; each starts above the last id, so none comes twice."""
        shape = self._ready(again=True)
        self._count()  # waits until all that was written can be read
        names = fields(shape)
        size = min(block, rows.MOST_ROWS if names == [shape.key] else rows.rows_per_message(shape.dim))
        last: Any = None
        while True:
            try:
                page = self._page(shape, names, size, above=last)
            except Exception as error:
                if size == 1 or not rows.too_large(error):
                    raise
                size //= 2
                continue
            if not page:
                return
            for row in page:
                if last is not None and not row[shape.key] > last:
                    came = f"{row[shape.key]!r} came after {last!r}"
                    raise StoreError(f"{self.name} gives its ids out of order: {came}; read it again.")
                last = row[shape.key]
            yield page, shape

    def _page(self, shape: Shape, fields: list[str], limit: int, *, above: Any = None) -> list[Any]:
        """The first rows whose id is above another.

        Only a query that says it is of an iterator is sorted by id. The client's own iterator does not work: it cannot
        step over a text id with a quotation mark in it.
        """
        only = "" if above is None else f"{shape.key} > {rows.literal(above)}"
        options = {"iterator": "True", "reduce_stop_for_best": "True", "strict_float32": True}
        return list(self._call("query", filter=only, output_fields=fields, limit=limit, **options))

    def _ready(self, *, again: bool = False) -> Shape:
        """The shape, as it was when last read or as it is; the collection is loaded if it was not."""
        if again or self._shape is None:
            self._shape = self._read_shape()
            self._loaded_here = self._load() or self._loaded_here
        return self._shape

    def _read_shape(self) -> Shape:
        return shape_of(self.address, self._call("describe_collection"), self._indexes())

    def _indexes(self) -> list[dict[str, Any]]:
        return [self._call("describe_index", each) for each in self._call("list_indexes")]

    def _load(self) -> bool:
        """Loads the collection into the server's memory, without which nothing can be read; whether that was needed."""
        loaded = require("pymilvus.client.types", extra="milvus").LoadState.Loaded
        if self._call("get_load_state")["state"] == loaded:
            return False
        self._call("load_collection", _async=True)
        while self._call("get_load_state")["state"] != loaded:
            time.sleep(PAUSE)
        return True
