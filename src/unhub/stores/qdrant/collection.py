"""A Qdrant collection, whichever engine serves it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import Collection, are_unit, checked_queries, results_of
from unhub.stores.address import Address
from unhub.stores.interface import Abilities, Block, CorrectedIndex, Description, Metric, SearchResults
from unhub.stores.qdrant.corrected_points import BiasField, BiasVector
from unhub.stores.qdrant.engine import DISTANCES, MARK, Engine, Having, Point, SearchRequest, chosen, order, own_ids
from unhub.stores.vector_encoding import VectorEncoding

OPTIONS = ("vector", "fetch", "into", "ef", "oversampling")  # of every Qdrant address
OVERSAMPLING = 4.0  # for vectors with a bias: quantisation cuts off numbers that are larger than most
_PAGE_NUMBERS = 4_000_000  # floats in one page of a scan, which travels as text
_QUERIES = 100
_SAMPLE = 256  # vectors that are checked for unit length


class QdrantCollection(Collection):
    """One collection; ``vector`` among the address's options chooses one of its named vectors."""

    kind: ClassVar[str] = "qdrant"

    def __init__(self, address: Address, engine: Engine) -> None:
        super().__init__(address)
        self.engine = engine
        self.abilities = Abilities(("augment", "constant_norm", "payload", "rerank"), aliases=engine.aliases_exist)
        self._leave = engine.opened.join(self)
        self._vector: tuple[str, int, Metric] | None = None
        if address.options.get("into", "payload") not in ("payload", "vector"):
            raise InputError(f"{address}: into is {address.options['into']!r}; give payload or vector.")
        self.fetch = int(address.number("fetch", 0))
        self._ef = address.number("ef", 0) or None
        self._oversampling = address.number("oversampling", 0) or None

    def sibling(self, name: str) -> QdrantCollection:
        """The collection of another name in the same store."""
        return QdrantCollection(self.address.beside(name), self.engine.beside(name))

    def corrected_index(self, name: str, encoding: VectorEncoding) -> CorrectedIndex:
        """A payload field with the bias, or with ``into=vector`` a named vector that carries it."""
        strategy = BiasVector if self.address.options.get("into") == "vector" else BiasField
        return strategy(self, name, encoding)

    def close(self) -> None:
        """Closes the client, unless another collection uses it."""
        self._leave()

    def vector(self) -> tuple[str, int, Metric]:
        """The name, dimension and metric of the chosen vector; they never change."""
        if self._vector is None:
            with self.errors("cannot be read"):
                self._vector = chosen(self.address, self.engine.shape())
        return self._vector

    def pages(self, limit: int, having: Having, *, whole: bool = False) -> Iterator[list[Point]]:
        """All points that have a vector or a field, some at a time."""
        return self._each(self._points(limit, having, whole))

    def best(self, queries: FloatArray, dim: int, request: SearchRequest) -> SearchResults:
        """Qdrant's answers, with its own scores; rows that are not full end in None and minus infinity."""
        vectors = checked_queries(self.url, queries, dim)
        answers: list[list[tuple[int | str, float]]] = []
        for start in range(0, len(vectors), _QUERIES):
            with self.errors("cannot be searched"):
                answers += self.engine.search(vectors[start : start + _QUERIES].tolist(), request)
        return results_of([([own for own, _ in hits], [score for _, score in hits]) for hits in answers], request.k)

    def request(self, k: int, vector: str, filter: Any, exact: bool) -> SearchRequest:
        """A search of this vector with the effort that the address says."""
        corrected = MARK in vector or MARK in self.name
        oversampling = self._oversampling or (OVERSAMPLING if corrected else None)
        return SearchRequest(k, vector, filter, exact, self._ef and max(1, round(self._ef)), oversampling)

    def raise_effort(self, factor: float) -> bool:
        """Makes searches of the graph look at more: a larger ef, which by default is that of its construction."""
        vector = self.vector()[0]
        with self.errors("cannot be read"):
            ef = self._ef or self.engine.shape().graph(vector).get("ef_construct")
        if not ef:
            return False
        self._ef = float(ef) * factor
        return True

    def has_mark(self, name: str, kind: str) -> bool:
        """Whether the collection's metadata says that unhub made something of that name and kind."""
        with self.errors("cannot be read"):
            return self.engine.exists() and self.engine.marks().get(name) == kind

    def _exists(self) -> bool:
        return self.engine.exists()

    def _describe(self) -> Description:
        vector, dim, metric = self.vector()
        shape = self.engine.shape()
        count = self.engine.count(Having(vector=vector))
        sample = self.engine.page(None, _SAMPLE, Having(vector=vector), whole=True)[0]
        index, exact = shape.index(vector, count)
        unit = are_unit(np.array([each.vectors[vector] for each in sample]))
        graph = bool(shape.indexed) and shape.has_graph(vector)
        quantiser = shape.quantiser(vector) if shape.indexed else None
        return Description(
            self.url, metric, dim, count, index, exact, shape.dtype(vector), unit, graph, quantiser and quantiser[1]
        )

    def _scan(self, block: int) -> Iterator[Block]:
        vector, dim, _ = self.vector()
        for points in self._points(min(block, max(1, _PAGE_NUMBERS // dim)), Having(vector=vector), whole=True):
            yield Block(
                [str(each.id) for each in points],
                np.array([each.vectors.pop(vector) for each in points], dtype=np.float32),
                [(_without_marks(each.payload or {}), _without_marks(each.vectors)) for each in points],
            )

    def _ids(self, block: int) -> Iterator[list[str]]:
        for points in self._points(block, Having(vector=self.vector()[0]), whole=False):
            yield [str(each.id) for each in points]

    def _points(self, limit: int, having: Having, whole: bool) -> Iterator[list[Point]]:
        start, last = None, None
        while True:
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

    def _search(self, queries: FloatArray, k: int, filter: Any, exact: bool) -> SearchResults:
        vector, dim, metric = self.vector()
        results = self.best(queries, dim, self.request(k, vector, filter, exact))
        return SearchResults(results.ids, -np.square(results.scores)) if metric == "l2" else results

    def _marked(self) -> bool:
        return self.has_mark(self.name, "collection")

    def _create(self, like: QdrantCollection, dim: int, metric: Metric) -> None:
        if not self.engine.exists():
            self.engine.create(like.engine, like.vector()[0], dim, DISTANCES[metric])

    def _upsert(self, block: Block) -> None:
        vector, dim, _ = self.vector()
        if block.vectors.ndim != 2 or block.vectors.shape[1] != dim:
            raise InputError(f"{self.url}: vectors have shape {block.vectors.shape}, not (items, {dim}).")
        extras = block.payload or [({}, {})] * len(block)
        rows = block.vectors.astype(np.float32, copy=False).tolist()
        own = own_ids(self.url, block.ids)
        self.engine.upsert(
            [
                Point(each, {**others, vector: row}, payload)
                for each, row, (payload, others) in zip(own, rows, extras, strict=True)
            ]
        )

    def _delete(self, ids: Sequence[str]) -> None:
        self.engine.delete(own_ids(None, ids))

    def _finish(self) -> None:
        self.engine.settle()

    def _drop(self) -> None:
        self._vector = None
        self.engine.drop()

    def _alias(self, name: str) -> str | None:
        return self.engine.aliases().get(name)

    def _set_alias(self, name: str, collection: str | None) -> None:
        self.engine.set_alias(name, collection)


def _without_marks(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields or vectors that are not unhub's."""
    return {name: value for name, value in fields.items() if MARK not in name} if fields else fields
