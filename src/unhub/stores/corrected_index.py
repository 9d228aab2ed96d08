"""The corrected index beside a collection: new vectors that carry their bias, or a native strategy of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import Collection
from unhub.stores.interface import BLOCK, Block, CorrectedIndex, SearchResults
from unhub.stores.vector_encoding import VECTORS, VectorEncoding


@dataclass(frozen=True)
class NewCollection:
    """Corrected vectors in a collection of their own; the one they came from is only read."""

    origin: Collection
    copy: Collection
    encoding: VectorEncoding

    def exists(self) -> bool:
        """Whether the new collection exists."""
        return self.copy.exists()

    def made_by_unhub(self) -> bool:
        """Whether the new collection carries unhub's mark."""
        return self.copy.made_by_unhub()

    def create(self) -> None:
        """Makes it with the index and the fields of the origin; refused if the store does not keep unhub's mark."""
        new = not self.copy.exists()
        self.copy.create(self.origin, self.encoding.width, self.encoding.metric)
        if new and not self.copy.made_by_unhub():
            self.copy.drop()  # it is empty: we have just made it
            raise StoreError(f"{self.copy.url} does not keep unhub's mark; update the store (Qdrant to 1.16 or newer).")

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids in it."""
        return self.copy.ids(block)

    def write(self, block: Block, bias: FloatArray) -> None:
        """Writes the vectors with their bias, and the payload as it is."""
        self.copy.upsert(Block(block.ids, self.encoding.targets(block.vectors, bias), block.payload))

    def delete(self, ids: Sequence[str]) -> None:
        """Removes items."""
        self.copy.delete(ids)

    def finish(self) -> None:
        """Builds the index."""
        self.copy.finish()

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by score + bias."""
        encoded = self.encoding.queries(queries)
        results = self.copy.search(encoded, k, filter=filter, exact=exact)
        return SearchResults(results.ids, self.encoding.scores(results.scores, encoded))

    def raise_effort(self, factor: float) -> bool:
        """Makes searches of the new collection look at more."""
        return self.copy.raise_effort(factor)

    def drop(self) -> None:
        """Removes the new collection."""
        self.copy.drop()

    def close(self) -> None:
        """Closes the new collection."""
        self.copy.close()


@runtime_checkable
class NativeStrategies(Protocol):
    """A collection whose store adds a bias without new vectors: a column, an expression index, a payload field."""

    def corrected_index(self, name: str, encoding: VectorEncoding) -> CorrectedIndex:
        """The corrected index of that name with the strategy of the encoding; it need not exist."""


def corrected_index(collection: Collection, name: str, encoding: VectorEncoding) -> CorrectedIndex:
    """The corrected index of that name beside a collection; it need not exist."""
    index: CorrectedIndex
    if encoding.strategy in VECTORS:
        index = NewCollection(collection, collection.sibling(name), encoding)
    elif isinstance(collection, NativeStrategies):
        index = collection.corrected_index(name, encoding)
    else:
        raise InputError("strategy", f"is {encoding.strategy!r}, which {collection.url} cannot serve", "export again")
    if encoding.effort != 1:
        index.raise_effort(encoding.effort)
    return index
