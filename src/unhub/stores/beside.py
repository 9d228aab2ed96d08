"""A new collection of vectors that carry their bias: the corrected place in every store that holds collections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unhub.foundation.errors import StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.layout import Layout
from unhub.stores.protocol import BLOCK, Block, Collection, Found, Tunable


@dataclass(frozen=True)
class NewCollection:
    """Corrected vectors in a collection of their own; the one they came from is only read."""

    origin: Collection
    place: Collection
    layout: Layout

    def exists(self) -> bool:
        """Whether the collection is there."""
        return self.place.exists()

    def made_by_unhub(self) -> bool:
        """Whether the collection carries unhub's mark."""
        return self.place.made_by_unhub()

    def create(self) -> None:
        """Makes it with the index and the fields of the origin; refused where the store does not keep unhub's mark."""
        new = not self.place.exists()
        self.place.create(self.origin, self.layout.width, self.layout.metric)
        if new and not self.place.made_by_unhub():
            self.place.drop()  # it is empty, and we have just made it
            raise StoreError(
                f"{self.place.url} does not keep the mark by which unhub knows its own; update the store "
                f"(Qdrant to 1.16 or newer)."
            )

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids that are in it."""
        return self.place.ids(block)

    def write(self, block: Block, bias: FloatArray) -> None:
        """Writes the vectors with their bias, and the rest of each item as it is."""
        self.place.put(Block(block.ids, self.layout.targets(block.vectors, bias), block.rest))

    def delete(self, ids: Sequence[str]) -> None:
        """Takes items out."""
        self.place.delete(ids)

    def finish(self) -> None:
        """Builds the index."""
        self.place.finish()

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> Found:
        """The k best by score + bias."""
        asked = self.layout.queries(queries)
        found = self.place.search(asked, k, filter=filter, exact=exact)
        return Found(found.ids, self.layout.scores(found.scores, asked))

    @property
    def keeps_effort(self) -> bool:
        """Whether the store itself keeps how hard a search looks."""
        return isinstance(self.place, Tunable) and self.place.keeps_effort

    def harder(self, factor: float) -> bool:
        """Has searches look at more, where the store can."""
        return isinstance(self.place, Tunable) and self.place.harder(factor)

    def drop(self) -> None:
        """Removes the new collection."""
        self.place.drop()

    def close(self) -> None:
        """Lets go of the new collection."""
        self.place.close()
