"""What adapters and exports exchange: abilities, descriptions, blocks of items, results, and the corrected index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from unhub.foundation.types import AnyArray, FloatArray

Metric = Literal["ip", "cosine", "l2"]  # inner product, cosine, or minus the squared Euclidean distance
Strategy = Literal["augment", "constant_norm", "expression", "column", "payload", "rerank"]
"""how a store ranks by score + bias; see ``unhub.stores.vector_encoding`` and ``unhub.stores.export_plan``"""
Quantiser = Literal["rotated", "one_range", "own_ranges", "codes"]
"""how an index shortens vectors: it rotates them first (OPQ, RaBitQ, binary), it cuts all dimensions to one range
(int8), it gives each dimension a range of its own (faiss SQ8), or in another way (product codes)"""
BLOCK = 4096  # items that are read or written at once by default


@dataclass(frozen=True)
class Abilities:
    """What an adapter's store can do; what is missing is declared here, and tests skip it by name."""

    strategies: tuple[Strategy, ...]  # the ways to serve corrected results, the best first
    metrics: tuple[Metric, ...] = ("ip", "cosine", "l2")  # what a new collection may rank by
    aliases: bool = False  # whether a name can be pointed at another collection in one step
    exact: bool = True  # whether a search can be asked to look at every vector, whatever the index
    items_per_second: float = 20_000  # items of 128 numbers that an export reads and writes, measured on two cores
    noun: str = "collection"  # what the store calls a collection
    pad_to: int = 1  # floats are written in a multiple of this many; most stores are as fast with any number
    snapshot: bool = False  # whether a scan sees the collection as it was at one moment, whoever writes meanwhile
    keeps_effort: bool = False  # whether the index keeps how much a search looks at; otherwise every search passes it


@dataclass(frozen=True)
class Description:
    """What a collection is, as its adapter declares it."""

    url: str  # its address, without passwords and keys
    metric: Metric
    dim: int
    count: int
    index: str  # the kind of index in the store's words, such as flat, hnsw or ivf_pq; for people to read
    exact: bool  # whether a plain search looks at every vector
    dtype: str = "float32"  # what the vectors are stored in: float32, float16, int8
    unit: bool | None = None  # whether the sampled vectors have unit length; None if there are none
    graph: bool = False  # whether a search walks a graph of neighbours, such as HNSW
    quantiser: Quantiser | None = None  # how the index shortens vectors; None if it keeps them whole
    notes: tuple[str, ...] = ()  # what a copy of the collection would lose, as sentences

    @property
    def coded(self) -> bool:
        """Whether the store returns vectors as a quantiser has kept them, and not as they were."""
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


class Searchable(Protocol):
    """What corrected searches go through: what an export has written, or a collection whose results are reranked."""

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by score + bias of each raw query (query, dim), with those sums as scores."""

    def raise_effort(self, factor: float) -> bool:
        """Makes searches look at this many times as much; False if the index has no such setting."""

    def finish(self) -> None:
        """Called after the last write: builds the index, flushes; may be called again."""

    def close(self) -> None:
        """Closes what it opened beside the collection's own connection."""


class CorrectedIndex(Searchable, Protocol):
    """What an export writes beside a collection, searched by score + bias. Queries are raw, scores corrected."""

    def exists(self) -> bool:
        """Whether any of it exists."""

    def made_by_unhub(self) -> bool:
        """Whether it exists and carries the mark that ``create`` leaves in the store."""

    def create(self) -> None:
        """Makes it, empty; no error if it exists."""

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids of what has been written to it."""

    def write(self, block: Block, bias: FloatArray) -> None:
        """Writes items with their bias (item,); items with the same ids are replaced."""

    def delete(self, ids: Sequence[str]) -> None:
        """Removes items; an unknown id is no error."""

    def drop(self) -> None:
        """Removes it and nothing else; no error if it does not exist."""
