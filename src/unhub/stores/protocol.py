"""What a vector store must be able to do, in unhub's words: the one protocol that every adapter follows.

Scores are similarities, larger is better; a store that speaks distance is translated inside its adapter. Ids are
strings outside an adapter and the store's own type inside it, except that a search gives back the store's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from unhub.foundation.types import AnyArray, FloatArray

Metric = Literal["ip", "cosine", "l2"]
"""inner product, cosine, or minus the squared Euclidean distance"""

Strategy = Literal["augment", "constant_norm", "expression", "column", "payload", "rerank"]
"""how a store ranks by score + bias; see ``unhub.stores.vector_encoding`` and ``unhub.stores.export_plan``"""

Quantiser = Literal["rotated", "one_range", "own_ranges", "codes"]
"""how an index shortens vectors: it rotates them first (OPQ, RaBitQ, binary), it cuts all dimensions to one range
(int8), it gives each dimension a range of its own (faiss SQ8), or in another way (product codes)"""

BLOCK = 4096
"""items that are read or written at once, unless a caller says otherwise"""


@dataclass(frozen=True)
class Abilities:
    """What an adapter's store can do; what is not here is declared missing, and tests skip it by name."""

    strategies: tuple[Strategy, ...]
    """the ways to serve corrected results, the best first"""
    metrics: tuple[Metric, ...] = ("ip", "cosine", "l2")
    """what a new collection may rank by"""
    aliases: bool = False
    """whether a name can be pointed at another collection in one step"""
    exact: bool = True
    """whether a search can be asked to look at every vector, whatever the index"""
    deletes: bool = True
    """whether single items can be taken out"""
    items_per_second: float = 20_000
    """about how many items of 128 numbers an export reads and writes, as measured on two cores"""
    noun: str = "collection"
    """what the store calls a collection"""
    pad_to: int = 1
    """floats are written in a multiple of this many; most stores are as fast at any, and every number takes its time"""
    snapshot: bool = False
    """whether a scan sees the collection as it was at one moment, whoever writes meanwhile"""


@dataclass(frozen=True)
class Description:
    """What a collection is, as far as unhub has to know."""

    url: str
    """where it is; no password or key is in it"""
    metric: Metric
    dim: int
    count: int
    index: str
    """the kind of index in the store's words, such as flat, hnsw or ivf_pq"""
    exact: bool
    """whether a plain search looks at every vector"""
    dtype: str = "float32"
    """what the vectors are stored in: float32, float16, int8"""
    unit: bool | None = None
    """whether the vectors looked at have unit length; None if there are none"""
    graph: bool = False
    """whether a search walks a graph of neighbours, such as HNSW"""
    quantiser: Quantiser | None = None
    """how the index shortens vectors; None if it keeps them whole"""
    notes: tuple[str, ...] = ()
    """what a copy of the collection would lose, as sentences"""

    @property
    def coded(self) -> bool:
        """Whether vectors are given back as a quantiser has kept them, and not as they were."""
        return not self.dtype.startswith("float")


@dataclass(frozen=True, eq=False)
class Block:
    """Some items of a collection: their ids, their vectors (item, dim), and whatever else the store keeps of them.

    ``payload`` has one entry for each item; only the same adapter's ``upsert`` understands it.
    """

    ids: list[str]
    vectors: FloatArray
    payload: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def pick(self, rows: Sequence[int]) -> Block:
        """The items of these rows."""
        payload = None if self.payload is None else [self.payload[row] for row in rows]
        return Block([self.ids[row] for row in rows], self.vectors[list(rows)], payload)


@dataclass(frozen=True, eq=False)
class SearchResults:
    """The best items of every query, best first: ids (query, k) of the store's own type, similarities (query, k).

    Where a query has fewer than k, the rest of its row is None and minus infinity.
    """

    ids: AnyArray
    scores: FloatArray


class Collection(Protocol):
    """One collection (table, index file) of one store. Opening it changes nothing in the store."""

    kind: ClassVar[str]
    abilities: Abilities

    @property
    def url(self) -> str:
        """Where it is, in a strategy that opens it again; without passwords and keys."""

    @property
    def name(self) -> str:
        """Its name within the store."""

    def exists(self) -> bool:
        """Whether it is there at all."""

    def describe(self) -> Description:
        """Metric, dimension, count, index, as they are now."""

    def scan(self, block: int = BLOCK) -> Iterator[Block]:
        """Every item once, always in the same order while nothing changes, in blocks of at most this many."""

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids alone, in the order of ``scan``."""

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k most similar items of each query (query, dim), within the filter, in the store's own words."""

    def derived(self, tag: str) -> str:
        """The name that a collection made beside this one gets, such as photos_unhub_1f3c9a2b for the tag 1f3c9a2b."""

    def sibling(self, name: str) -> Collection:
        """The collection of another name in the same store, through the same client; it need not exist."""

    def create(self, like: Collection, dim: int, metric: Metric) -> None:
        """Makes it, empty, with the kind of index and the other fields of ``like``; no error if it is there already.

        What is made carries unhub's mark from its first moment, in the store's own metadata.
        """

    def made_by_unhub(self) -> bool:
        """Whether it carries the mark that ``create`` leaves; False if it is not there."""

    def upsert(self, block: Block) -> None:
        """Writes items with their vectors and payload; an item that is there already is replaced."""

    def delete(self, ids: Sequence[str]) -> None:
        """Takes items out; an id that is not there is no error."""

    def finish(self) -> None:
        """Called after the last ``upsert``: builds the index like that of the origin, flushes; may be called again."""

    def drop(self) -> None:
        """Removes the whole collection; no error if it is not there."""

    def alias(self, name: str) -> str | None:
        """The collection that an alias points to, or None."""

    def set_alias(self, name: str, collection: str | None) -> None:
        """Points an alias at a collection in one step, or removes it (None); may be called again."""

    def close(self) -> None:
        """Lets go of connections and files."""


@runtime_checkable
class Tunable(Protocol):
    """An approximate index whose searches can be told to look at more."""

    @property
    def keeps_effort(self) -> bool:
        """Whether the store itself keeps it, for whoever searches there; else it is said with every search."""

    def raise_effort(self, factor: float) -> bool:
        """Has searches look at this many times as much; ``finish`` keeps it. False if there is nothing to turn."""


class CorrectedIndex(Protocol):
    """What an export writes beside a collection, searched by score + bias. Queries come raw, scores corrected."""

    def exists(self) -> bool:
        """Whether anything of it is there."""

    def made_by_unhub(self) -> bool:
        """Whether it carries the mark that ``create`` leaves in the store; False if it is not there."""

    def create(self) -> None:
        """Makes it, empty; no error if it is there already."""

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids of what has been written to it."""

    def write(self, block: Block, bias: FloatArray) -> None:
        """Writes items with their bias (item,); an item that is there already is replaced."""

    def delete(self, ids: Sequence[str]) -> None:
        """Takes items out; an id that is not there is no error."""

    def finish(self) -> None:
        """Called after the last write: builds the index, flushes; may be called again."""

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by score + bias of each raw query (query, dim), with those sums as scores."""

    def drop(self) -> None:
        """Removes it and nothing else; no error if it is not there."""

    def close(self) -> None:
        """Lets go of what it holds beside the collection's own connection."""
