"""Corrected results from the collection itself: a payload field with the bias, or a named vector that carries it.

payload  The ``fetch`` best by raw score are sorted again by score + field, inside Qdrant: exact as far as they reach.
         The field holds bias - middle, so that an item without one counts as average. Where the score is a distance d
         it holds (|t|^2 - 1)/2 as well, since t.q = -d^2/2 + |q|^2/2 + |t|^2/2; a bare score + field would rank the
         farthest first.
vector   [t; c bias; 0 ...] as a second vector of the same points, by inner product, with an index of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import guarded
from unhub.stores.protocol import BLOCK, Block, SearchResults
from unhub.stores.qdrant.engine import Having, own_ids
from unhub.stores.vector_encoding import PAD_TO, VectorEncoding, padded

if TYPE_CHECKING:
    from unhub.stores.qdrant.collection import QdrantCollection

FEWEST = 200
TIMES = 20
"""raw best that are sorted again: TIMES k, at least FEWEST; the address can say another number with ``fetch``"""
_UNIT = 1e-3


@dataclass(frozen=True)
class BiasField:
    """The bias as a field of the payload."""

    collection: QdrantCollection
    name: str
    encoding: VectorEncoding

    @property
    def field(self) -> str:
        """The name as a path in the payload can have it, where dots and brackets mean something."""
        return re.sub(r"[^A-Za-z0-9_]", "_", self.name)

    def exists(self) -> bool:
        """Whether any point has the field."""
        if not self.collection.exists():
            return False
        with guarded(self.collection.address, "cannot be read"):
            return bool(self.collection.engine.page(None, 1, Having(field=self.field), whole=False)[0])

    def made_by_unhub(self) -> bool:
        """Whether the collection's metadata says so."""
        return self.collection.has_mark(self.name, "payload")

    def create(self) -> None:
        """Makes nothing but the mark, and the index of the field where the store insists on one."""
        with guarded(self.collection.address, "cannot be written"):
            self.collection.engine.mark(self.name, "payload")
            self.collection.engine.index_field(self.field, True)

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids of the points that have the field."""
        for points in self.collection.pages(block, Having(field=self.field), whole=False):
            yield [str(each.id) for each in points]

    def write(self, block: Block, bias: FloatArray) -> None:
        """Sets the field of points that are there."""
        metric = self.collection.meant()[2]
        squares = np.square(block.vectors.astype(np.float64)).sum(axis=1)
        if self.encoding.unit and metric != "cosine" and (np.abs(np.sqrt(squares) - 1) > _UNIT).any():
            raise InputError(
                f"{self.collection.url} has vectors that are not of unit length, and its scores are not cosines; "
                "choose the strategy augment."
            )
        values = (
            np.asarray(bias, dtype=np.float64) - self.encoding.middle + ((squares - 1) / 2 if metric == "l2" else 0)
        )
        with guarded(self.collection.address, "cannot be written"):
            self.collection.engine.set_field(self.field, own_ids(self.collection.url, block.ids), values)

    def delete(self, ids: Sequence[str]) -> None:
        """Takes the field away from these points."""
        with guarded(self.collection.address, "cannot be written"):
            self.collection.engine.unset_field(self.field, own_ids(None, ids))

    def finish(self) -> None:
        """Builds the index again, which Qdrant takes changed points out of."""
        self.collection.finish()

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by score + bias among the best by score."""
        vector, dim, metric = self.collection.meant()
        asked = self.encoding.queries(queries)[:, :dim]
        plain = self.collection.base_query(k, vector, filter, exact)
        ask = replace(
            plain,
            oversampling=plain.oversampling or 1.0,
            field=self.field,
            fetch=max(k, self.collection.fetch or max(FEWEST, TIMES * k)),
            squared=metric == "l2",
        )
        found = self.collection.asked(asked, dim, ask)
        squares = np.square(asked.astype(np.float64)).sum(axis=1, keepdims=True)
        shift = self.encoding.middle + ((squares + 1) / 2 if metric == "l2" else 0)
        return SearchResults(found.ids, (found.scores + shift).astype(np.float32))

    def close(self) -> None:
        """Nothing of its own to let go of."""

    def drop(self) -> None:
        """Takes the field away from every point, and the mark last."""
        if not self.made_by_unhub():
            return
        changed = False
        for some in self.ids():
            self.delete(some)
            changed = True
        with guarded(self.collection.address, "cannot be written"):
            self.collection.engine.index_field(self.field, False)
            self.collection.engine.mark(self.name, None)
        if changed:
            self.collection.finish()


@dataclass(frozen=True)
class BiasVector:
    """The bias within a named vector of its own."""

    collection: QdrantCollection
    name: str
    encoding: VectorEncoding

    def exists(self) -> bool:
        """Whether the collection has the vector."""
        if not self.collection.exists():
            return False
        with guarded(self.collection.address, "cannot be read"):
            return self.name in self.collection.engine.shape().vectors

    def made_by_unhub(self) -> bool:
        """Whether the collection's metadata says so."""
        return self.collection.has_mark(self.name, "vector")

    def create(self) -> None:
        """Adds the vector, behind a mark; no point has it yet."""
        with guarded(self.collection.address, "cannot be written"):
            self.collection.engine.mark(self.name, "vector")
            self.collection.engine.add_vector(self.name, self._augmented().width)

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids of the points that have the vector."""
        for points in self.collection.pages(block, Having(vector=self.name), whole=False):
            yield [str(each.id) for each in points]

    def write(self, block: Block, bias: FloatArray) -> None:
        """Sets the vector of points that are there."""
        made = self._augmented().targets(block.vectors, bias)
        with guarded(self.collection.address, "cannot be written"):
            self.collection.engine.set_vectors(self.name, own_ids(self.collection.url, block.ids), made)

    def delete(self, ids: Sequence[str]) -> None:
        """Takes the vector away from these points."""
        with guarded(self.collection.address, "cannot be written"):
            self.collection.engine.unset_vectors(self.name, own_ids(None, ids))

    def finish(self) -> None:
        """Builds the index of the vector."""
        self.collection.finish()

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by score + bias."""
        augmented = self._augmented()
        asked = augmented.queries(queries)
        found = self.collection.asked(asked, augmented.width, self.collection.base_query(k, self.name, filter, exact))
        return SearchResults(found.ids, augmented.scores(found.scores, asked))

    def close(self) -> None:
        """Nothing of its own to let go of."""

    def drop(self) -> None:
        """Removes the vector from the collection, and the mark last."""
        if not self.made_by_unhub():
            return
        there = self.exists()
        with guarded(self.collection.address, "cannot be written"):
            if there:
                self.collection.engine.remove_vector(self.name)
            self.collection.engine.mark(self.name, None)
        if there:
            self.collection.finish()

    def _augmented(self) -> VectorEncoding:
        _, dim, metric = self.collection.meant()
        unit = self.encoding.unit or metric == "cosine"
        return replace(self.encoding, strategy="augment", metric="ip", width=padded(dim + 1, PAD_TO), unit=unit)
