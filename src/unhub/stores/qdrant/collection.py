"""A Qdrant collection as the protocol wants it, whichever of the engines is below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import CollectionBase, are_unit, checked_queries, guarded, results_of
from unhub.stores.address import Address
from unhub.stores.protocol import (
    BLOCK,
    Abilities,
    Block,
    Collection,
    CorrectedIndex,
    Description,
    Metric,
    SearchResults,
)
from unhub.stores.qdrant.corrected_index import BiasField, BiasVector
from unhub.stores.qdrant.engine import Ask, Engine, Having, Point, order, own_ids
from unhub.stores.qdrant.shape import DISTANCES, MARK, chosen
from unhub.stores.vector_encoding import VectorEncoding

OPTIONS = ("vector", "fetch", "into", "ef", "oversampling")
"""what every Qdrant address may say"""
OVERSAMPLING = 4.0
"""for vectors that carry a bias, of which quantisation keeps little: it cuts off numbers that are larger than most"""
_PAGE_NUMBERS = 4_000_000
"""floats that one page of a scan has at most: a page goes over the wire as text"""
_QUERIES = 100
_LOOKED_AT = 256
"""vectors that are looked at to see whether they have unit length"""


class QdrantCollection(CollectionBase):
    """One collection; ``vector`` among the address's options says which of its named vectors is meant."""

    kind: ClassVar[str] = "qdrant"
    keeps_effort: ClassVar[bool] = False

    def __init__(self, address: Address, engine: Engine) -> None:
        super().__init__(address)
        self.engine = engine
        self.abilities = Abilities(("augment", "constant_norm", "payload", "rerank"), aliases=engine.aliases_exist)
        self._leave = engine.opened.join(self)
        self._vector: tuple[str, int, Metric] | None = None
        if address.options.get("into", "payload") not in ("payload", "vector"):
            raise InputError(f"{address}: into is {address.options['into']!r}; give payload or vector.")
        self.fetch = int(address.number("fetch", 0))
        self._effort = address.number("ef", 0) or None
        self._oversampling = address.number("oversampling", 0) or None

    def exists(self) -> bool:
        """Whether it is there at all."""
        with guarded(self.address, "cannot be looked for"):
            return self.engine.exists()

    def meant(self) -> tuple[str, int, Metric]:
        """The name, dimension and metric of the vector that is meant; they never change."""
        if self._vector is None:
            with guarded(self.address, "cannot be read"):
                self._vector = chosen(self.address, self.engine.shape())
        return self._vector

    def describe(self) -> Description:
        """Metric, dimension, count, index, as they are now."""
        vector, dim, metric = self.meant()
        with guarded(self.address, "cannot be read"):
            shape = self.engine.shape()
            count = self.engine.count(Having(vector=vector))
            looked = self.engine.page(None, _LOOKED_AT, Having(vector=vector), whole=True)[0]
        index, exact = shape.index(vector, count)
        unit = are_unit(np.array([each.vectors[vector] for each in looked]))
        graph = bool(shape.indexed) and shape.has_graph(vector)
        quantiser = shape.quantiser(vector) if shape.indexed else None
        return Description(
            self.url, metric, dim, count, index, exact, shape.dtype(vector), unit, graph=graph, quantiser=quantiser
        )

    def scan(self, block: int = BLOCK) -> Iterator[Block]:
        """Every item that has the vector, in the order of the ids."""
        vector, dim, _ = self.meant()
        for points in self.pages(min(block, max(1, _PAGE_NUMBERS // dim)), Having(vector=vector), whole=True):
            yield Block(
                [str(each.id) for each in points],
                np.array([each.vectors.pop(vector) for each in points], dtype=np.float32),
                [(_kept(each.payload or {}), _kept(each.vectors)) for each in points],
            )

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids alone."""
        for points in self.pages(block, Having(vector=self.meant()[0]), whole=False):
            yield [str(each.id) for each in points]

    def pages(self, limit: int, having: Having, *, whole: bool) -> Iterator[list[Point]]:
        """All points that have something, some at a time."""
        start, last = None, None
        while True:
            with guarded(self.address, "cannot be read"):
                points, start = self.engine.page(start, limit, having, whole=whole)
            for each in points:
                if last is not None and order(each.id) <= order(last):
                    raise StoreError(
                        f"{self.url} changed while it was read (the id {each.id} came twice); read it again."
                    )
                last = each.id
            if points:
                yield points
            if start is None:
                return

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k most similar items of each query."""
        vector, dim, metric = self.meant()
        found = self.asked(queries, dim, self.base_query(k, vector, filter, exact))
        return SearchResults(found.ids, -np.square(found.scores)) if metric == "l2" else found

    def base_query(self, k: int, vector: str, filter: Any, exact: bool) -> Ask:
        """A search of this vector with the effort that the address says."""
        corrected = MARK in vector or MARK in self.name
        effort = self._effort and max(1, round(self._effort))
        return Ask(k, vector, filter, exact, effort, self._oversampling or (OVERSAMPLING if corrected else None))

    def raise_effort(self, factor: float) -> bool:
        """Has searches of the graph look at more: a larger ef, which is that of its construction if nobody says."""
        vector = self.meant()[0]
        with guarded(self.address, "cannot be read"):
            usual = self.engine.shape().graph(vector).get("ef_construct")
        if not (self._effort or usual):
            return False
        self._effort = float(self._effort or usual or 0) * factor
        return True

    def asked(self, queries: FloatArray, dim: int, ask: Ask) -> SearchResults:
        """What Qdrant answers, its scores as they come; rows that are not full end in None and infinity."""
        asked = checked_queries(self.url, queries, dim)
        answers: list[list[tuple[int | str, float]]] = []
        for start in range(0, len(asked), _QUERIES):
            with guarded(self.address, "cannot be searched"):
                answers += self.engine.ask(asked[start : start + _QUERIES].tolist(), ask)
        return results_of([([own for own, _ in hits], [score for _, score in hits]) for hits in answers], ask.k)

    def sibling(self, name: str) -> Collection:
        """The collection of another name in the same store."""
        before = self.address.path.rstrip("/").rpartition("/")[0]
        return QdrantCollection(replace(self.address, path=f"{before}/{name}"), self.engine.beside(name))

    def made_by_unhub(self) -> bool:
        """Whether its own metadata says so."""
        return self.has_mark(self.name, "collection")

    def has_mark(self, name: str, kind: str) -> bool:
        """Whether the collection's metadata says that unhub has made something of that name and kind."""
        if not self.exists():
            return False
        with guarded(self.address, "cannot be read"):
            return self.engine.marks().get(name) == kind

    def create(self, like: Collection, dim: int, metric: Metric) -> None:
        """Makes it with the index, the other vectors and the payload indexes of ``like``."""
        assert isinstance(like, QdrantCollection)
        if self.exists():
            return
        with guarded(self.address, "cannot be made"):
            self.engine.create(like.engine, like.meant()[0], dim, DISTANCES[metric])

    def upsert(self, block: Block) -> None:
        """Writes items with their vectors and the rest."""
        vector, dim, _ = self.meant()
        if block.vectors.ndim != 2 or block.vectors.shape[1] != dim:
            raise InputError(f"{self.url}: vectors of shape {block.vectors.shape} came, (items, {dim}) are wanted.")
        rest = block.payload or [({}, {})] * len(block)
        rows = block.vectors.astype(np.float32, copy=False).tolist()
        points = [
            Point(own, {**others, vector: row}, payload)
            for own, row, (payload, others) in zip(own_ids(self.url, block.ids), rows, rest, strict=True)
        ]
        with guarded(self.address, "cannot be written"):
            self.engine.upsert(points)

    def delete(self, ids: Sequence[str]) -> None:
        """Takes items out."""
        with guarded(self.address, "cannot be written"):
            self.engine.delete(own_ids(None, ids))

    def finish(self) -> None:
        """Builds the index, or waits until it is built."""
        with guarded(self.address, "cannot be indexed"):
            self.engine.settle()

    def drop(self) -> None:
        """Removes the whole collection."""
        self._vector = None
        with guarded(self.address, "cannot be removed"):
            self.engine.drop()

    def alias(self, name: str) -> str | None:
        """The collection that an alias points to, or None."""
        with guarded(self.address, "cannot be read"):
            return self.engine.aliases().get(name)

    def set_alias(self, name: str, collection: str | None) -> None:
        """Points an alias at a collection, or takes it away."""
        with guarded(self.address, "cannot be given an alias"):
            self.engine.set_alias(name, collection)

    def corrected_index(self, name: str, encoding: VectorEncoding) -> CorrectedIndex:
        """A payload field with the bias, or with ``into=vector`` a named vector that carries it."""
        strategy = BiasVector if self.address.options.get("into") == "vector" else BiasField
        return strategy(self, name, encoding)

    def close(self) -> None:
        """Lets go of the client."""
        self._leave()


def _kept(fields: dict[str, Any]) -> dict[str, Any]:
    """Without what unhub put there."""
    return {name: value for name, value in fields.items() if MARK not in name} if fields else fields
