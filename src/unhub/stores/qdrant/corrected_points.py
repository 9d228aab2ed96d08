"""Corrected results from the collection itself: a payload field with the bias, or a named vector that carries it.

payload  The ``fetch`` best by raw score are sorted again by score + field, inside Qdrant: exact as far as they reach.
         The field holds bias - middle, so that an item without one counts as average. Where the score is a distance d
         it holds (|t|^2 - 1)/2 as well, since t.q = -d^2/2 + |q|^2/2 + |t|^2/2; a bare score + field would rank the
         farthest first.
vector   [t; c bias; 0 ...] as a second vector of the same points, by inner product, with an index of its own.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.interface import BLOCK, Block, SearchResults
from unhub.stores.qdrant.engine import Having, own_ids
from unhub.stores.vector_encoding import PAD_TO, VectorEncoding, padded

if TYPE_CHECKING:
    from unhub.stores.qdrant.collection import QdrantCollection

FEWEST, TIMES = 200, 20  # raw best that are sorted again: TIMES k, at least FEWEST, unless the address says ``fetch``
_UNIT = 1e-3


@dataclass(frozen=True)
class _InCollection(ABC):
    """What a payload field and a named vector have in common: both belong to points of the collection."""

    collection: QdrantCollection
    name: str
    encoding: VectorEncoding
    kind: ClassVar[str]

    def exists(self) -> bool:
        with self.collection.errors("cannot be read"):
            return self.collection.engine.exists() and self._exists()

    def made_by_unhub(self) -> bool:
        return self.collection.has_mark(self.name, self.kind)

    def create(self) -> None:
        with self.collection.errors("cannot be written"):
            self.collection.engine.mark(self.name, self.kind)
            self._create()

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        for points in self.collection.pages(block, self._having):
            yield [str(each.id) for each in points]

    def write(self, block: Block, bias: FloatArray) -> None:
        own = own_ids(self.collection.url, block.ids)
        with self.collection.errors("cannot be written"):
            self._write(own, block.vectors, bias)

    def delete(self, ids: Sequence[str]) -> None:
        with self.collection.errors("cannot be written"):
            self._delete(own_ids(None, ids))

    def finish(self) -> None:
        self.collection.finish()  # Qdrant takes changed points out of its index

    def raise_effort(self, factor: float) -> bool:
        return False

    def close(self) -> None:
        return  # the connection is the collection's

    def drop(self) -> None:
        """Removes it from every point, and the mark last."""
        if not self.made_by_unhub():
            return
        existed = self.exists()
        with self.collection.errors("cannot be written"):
            self._drop()
            self.collection.engine.mark(self.name, None)
        if existed:
            self.collection.finish()

    @property
    @abstractmethod
    def _having(self) -> Having: ...
    @abstractmethod
    def _exists(self) -> bool: ...
    @abstractmethod
    def _create(self) -> None: ...
    @abstractmethod
    def _write(self, own: list[int | str], vectors: FloatArray, bias: FloatArray) -> None: ...
    @abstractmethod
    def _delete(self, own: list[int | str]) -> None: ...
    @abstractmethod
    def _drop(self) -> None: ...


class BiasField(_InCollection):
    """The bias as a field of the payload."""

    kind = "payload"

    @property
    def field(self) -> str:
        """The name as a path in the payload can have it, where dots and brackets mean something."""
        return re.sub(r"[^A-Za-z0-9_]", "_", self.name)

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by score + bias among the best by score."""
        vector, dim, metric = self.collection.vector()
        vectors = self.encoding.queries(queries)[:, :dim]
        plain = self.collection.request(k, vector, filter, exact)
        request = replace(
            plain,
            oversampling=plain.oversampling or 1.0,
            field=self.field,
            fetch=max(k, self.collection.fetch or max(FEWEST, TIMES * k)),
            squared=metric == "l2",
        )
        results = self.collection.best(vectors, dim, request)
        squares = np.square(vectors.astype(np.float64)).sum(axis=1, keepdims=True)
        shift = self.encoding.middle + ((squares + 1) / 2 if metric == "l2" else 0)
        return SearchResults(results.ids, (results.scores + shift).astype(np.float32))

    @property
    def _having(self) -> Having:
        return Having(field=self.field)

    def _exists(self) -> bool:
        return bool(self.collection.engine.page(None, 1, self._having, whole=False)[0])

    def _create(self) -> None:
        self.collection.engine.index_field(self.field, True)

    def _write(self, own: list[int | str], vectors: FloatArray, bias: FloatArray) -> None:
        metric = self.collection.vector()[2]
        squares = np.square(vectors.astype(np.float64)).sum(axis=1)
        if self.encoding.unit and metric != "cosine" and (np.abs(np.sqrt(squares) - 1) > _UNIT).any():
            raise InputError(
                f"{self.collection.url} has vectors that are not of unit length, and its scores are not cosines; "
                "choose the strategy augment."
            )
        values = np.asarray(bias, dtype=np.float64) - self.encoding.middle
        self.collection.engine.set_field(self.field, own, values + (squares - 1) / 2 if metric == "l2" else values)

    def _delete(self, own: list[int | str]) -> None:
        self.collection.engine.unset_field(self.field, own)

    def _drop(self) -> None:
        for some in self.ids():
            self._delete(own_ids(None, some))
        self.collection.engine.index_field(self.field, False)


class BiasVector(_InCollection):
    """The bias within a named vector of its own."""

    kind = "vector"

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by score + bias."""
        augmented = self._augmented()
        vectors = augmented.queries(queries)
        request = self.collection.request(k, self.name, filter, exact)
        results = self.collection.best(vectors, augmented.width, request)
        return SearchResults(results.ids, augmented.scores(results.scores, vectors))

    @property
    def _having(self) -> Having:
        return Having(vector=self.name)

    def _exists(self) -> bool:
        return self.name in self.collection.engine.shape().vectors

    def _create(self) -> None:
        self.collection.engine.add_vector(self.name, self._augmented().width)

    def _write(self, own: list[int | str], vectors: FloatArray, bias: FloatArray) -> None:
        self.collection.engine.set_vectors(self.name, own, self._augmented().targets(vectors, bias))

    def _delete(self, own: list[int | str]) -> None:
        self.collection.engine.unset_vectors(self.name, own)

    def _drop(self) -> None:
        if self._exists():
            self.collection.engine.remove_vector(self.name)

    def _augmented(self) -> VectorEncoding:
        _, dim, metric = self.collection.vector()
        unit = self.encoding.unit or metric == "cosine"
        return replace(self.encoding, strategy="augment", metric="ip", width=padded(dim + 1, PAD_TO), unit=unit)
