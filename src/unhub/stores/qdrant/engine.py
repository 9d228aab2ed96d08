"""The calls that the Qdrant adapter makes: one protocol for a server, a folder of local mode, a Qdrant Edge shard."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.address import Address
from unhub.stores.interface import Metric, Quantiser

MARK = "_unhub_"  # in the name of every collection, vector and field that unhub makes; none of it is the user's data
METRICS: dict[str, Metric] = {"Dot": "ip", "Cosine": "cosine", "Euclid": "l2"}
DISTANCES = {metric: distance for distance, metric in METRICS.items()}
_BYTES = {"float32": 4, "float16": 2, "uint8": 1}
_QUANTISERS: dict[str, tuple[str, Quantiser]] = {"scalar": ("int8", "one_range"), "product": ("pq", "codes")}
"""Qdrant's word -> what to call it, and what it does; its other quantisers (binary, turbo) rotate"""
_BY_PATH: weakref.WeakValueDictionary[str, SharedClient] = weakref.WeakValueDictionary()
_LOCK = threading.RLock()


@dataclass(frozen=True)
class Shape:
    """How a collection is set up, in the words of Qdrant's REST interface, and how far its index is built."""

    vectors: Mapping[str, Mapping[str, Any]]  # name -> size, distance, datatype, hnsw_config, quantization_config
    hnsw: Mapping[str, Any]
    quantization: Mapping[str, Any] | None
    indexed: int  # vectors in an index, of all names together

    def dtype(self, vector: str) -> str:
        """How the vector's numbers are stored."""
        return str(self.vectors[vector].get("datatype") or "float32").lower()

    def graph(self, vector: str) -> dict[str, Any]:
        """The settings of the graph of a vector."""
        own = {name: each for name, each in (self.vectors[vector].get("hnsw_config") or {}).items() if each is not None}
        return {**self.hnsw, **own}

    def has_graph(self, vector: str) -> bool:
        """Whether a vector gets a graph."""
        hnsw = self.graph(vector)
        return bool(hnsw.get("m") or hnsw.get("payload_m"))

    def quantiser(self, vector: str) -> tuple[str, Quantiser] | None:
        """What a vector's quantiser is called and what it does, or None."""
        word = next(iter(self.vectors[vector].get("quantization_config") or self.quantization or {}), None)
        return None if word is None else _QUANTISERS.get(word, (word, "rotated"))

    def index(self, vector: str, count: int) -> tuple[str, bool]:
        """The kind of index of a vector that this many points have, and whether a search looks at all of them."""
        hnsw, graph, quantiser = self.graph(vector), self.has_graph(vector), self.quantiser(vector)
        if not self.indexed:
            return "flat", True
        kind = ("hnsw" if graph else "flat") + (f"+{quantiser[0]}" if quantiser else "")
        # Below this size, in KB of vectors, Qdrant scans even though it has a graph.
        size = count * int(self.vectors[vector]["size"]) * _BYTES.get(self.dtype(vector), 4)
        small = size < 1024 * int(hnsw.get("full_scan_threshold") or 0)
        return kind, not quantiser and (small or not graph)


class Point(NamedTuple):
    """One item as Qdrant has it; a vector without a name is called ""."""

    id: int | str
    vectors: dict[str, Any]
    payload: dict[str, Any] | None


@dataclass(frozen=True)
class Having:
    """Only points that have this vector, or this field."""

    vector: str | None = None
    field: str | None = None


@dataclass(frozen=True)
class SearchRequest:
    """What all queries of a search have in common."""

    k: int
    vector: str
    filter: Any = None
    exact: bool = False
    effort: int | None = None  # the size of HNSW's candidate list
    oversampling: float | None = None  # how many times k a quantised search scores again with the whole vectors
    field: str | None = None  # the payload field that is added to the score of the ``fetch`` best
    fetch: int = 0
    squared: bool = False  # whether the score is a distance d; then the field is added to -d^2/2


class Engine(Protocol):
    """One collection of one Qdrant. Errors come out as the client's exceptions."""

    @property
    def aliases_exist(self) -> bool:
        """Whether the store has aliases."""

    @property
    def opened(self) -> SharedClient:
        """The client or shard, shared in this process."""

    def beside(self, name: str) -> Engine:
        """The collection of another name in the same store."""

    def exists(self) -> bool:
        """Whether it exists."""

    def shape(self) -> Shape:
        """How it is set up."""

    def count(self, having: Having) -> int:
        """The number of points, exactly."""

    def page(self, start: Any, limit: int, having: Having, *, whole: bool) -> tuple[list[Point], Any]:
        """The next points in the order of their ids, with vectors and payload if ``whole``; and the next start."""

    def search(self, vectors: list[list[float]], request: SearchRequest) -> list[list[tuple[int | str, float]]]:
        """The ids and scores that Qdrant gives for each query."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Writes points whole."""

    def delete(self, ids: Sequence[int | str]) -> None:
        """Removes points."""

    def create(self, like: Any, vector: str, dim: int, distance: str) -> None:
        """Makes it like ``like``, except for this vector's size and distance, with unhub's mark."""

    def marks(self) -> dict[str, str]:
        """What unhub has made here, by name: "collection", "payload" or "vector"."""

    def mark(self, name: str, kind: str | None) -> None:
        """Notes that unhub makes something of this name and kind here, before it does; None removes the note."""

    def settle(self) -> None:
        """Builds the index, or waits until it is built."""

    def drop(self) -> None:
        """Removes it, or what a kill left of making it; no error if it does not exist."""

    def aliases(self) -> dict[str, str]:
        """Alias -> collection."""

    def set_alias(self, alias: str, collection: str | None) -> None:
        """Points an alias at a collection, or removes it."""

    def set_field(self, field: str, ids: Sequence[int | str], values: FloatArray) -> None:
        """Sets a number in the payload of each of these points."""

    def unset_field(self, field: str, ids: Sequence[int | str]) -> None:
        """Removes the field from these points."""

    def index_field(self, field: str, wanted: bool) -> None:
        """Indexes the field if the store insists on that, or removes such an index."""

    def add_vector(self, vector: str, dim: int) -> None:
        """Adds a named vector that is ranked by inner product; no point has it yet."""

    def set_vectors(self, vector: str, ids: Sequence[int | str], vectors: FloatArray) -> None:
        """Sets the named vector of each of these points."""

    def unset_vectors(self, vector: str, ids: Sequence[int | str]) -> None:
        """Removes the named vector from these points."""

    def remove_vector(self, vector: str) -> None:
        """Removes a named vector altogether."""


def own_id(text: str) -> int | str | None:
    """The id as Qdrant has it: a number below 2^64 or a UUID; None if it is neither.

    >>> own_id("7"), own_id("12345678-1234-5678-1234-567812345678"), own_id("photo.jpg")
    (7, '12345678-1234-5678-1234-567812345678', None)
    """
    if text.isascii() and text.isdigit() and len(text) <= 20 and int(text) < 2**64:
        return int(text)
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def own_ids(url: str | None, ids: Sequence[str]) -> list[int | str]:
    """These ids as Qdrant has them; an impossible one is an error at this url, or left out if there is no url."""
    own = [own_id(each) for each in ids]
    if url is not None and None in own:
        raise InputError(f"{url}: {ids[own.index(None)]!r} cannot be an id in Qdrant; use numbers from 0 or UUIDs.")
    return [each for each in own if each is not None]


def order(own: int | str) -> tuple[bool, int | str]:
    """The key that Qdrant sorts ids by: numbers first."""
    return isinstance(own, str), own


def by_name(vector: Any) -> dict[str, Any]:
    """A record's vectors by name; empty if they were not requested."""
    return {} if vector is None else vector if isinstance(vector, dict) else {"": vector}


def bare(vectors: dict[str, Any]) -> Any:
    """Vectors as they are written: a single one without a name is not in a dictionary."""
    return vectors[""] if len(vectors) == 1 and "" in vectors else vectors


class SharedClient:
    """A client or shard that is opened when first needed, and closed when its last user leaves."""

    def __init__(self, open: Callable[[], Any]) -> None:
        self._open = open
        self._client: Any = None
        self._users = 0

    @property
    def client(self) -> Any:
        """The open client."""
        with _LOCK:
            if self._client is None:
                self._client = self._open()
            return self._client

    def join(self, user: object) -> Callable[[], Any]:
        """The function that the user calls when done; it is also called when the user is garbage-collected."""
        with _LOCK:
            self._users += 1
        return weakref.finalize(user, self._leave)

    def shut(self) -> None:
        """Closes the client now, whoever uses it; the next use opens it again."""
        with _LOCK:
            client, self._client = self._client, None
            if client is not None:
                client.close()

    def _leave(self) -> None:
        with _LOCK:
            self._users -= 1
            if self._users == 0:
                self.shut()


def shared_at(path: str, open: Callable[[], Any]) -> SharedClient:
    """The one shared client of a folder."""
    with _LOCK:
        where = os.path.realpath(path)
        shared = _BY_PATH.get(where)
        if shared is None:
            _BY_PATH[where] = shared = SharedClient(open)
        return shared


def chosen(address: Address, shape: Shape) -> tuple[str, int, Metric]:
    """The name, dimension and metric of the vector that the address names, or of the only one."""
    names = [name for name in shape.vectors if MARK not in name]
    only = "" if "" in names else names[0] if len(names) == 1 else None
    vector = address.options.get("vector", only)
    if vector is None or vector not in shape.vectors:
        known = ", ".join(sorted(names)) or "none"
        raise InputError(f"{address}: choose a vector with ?vector=<name>; there are {known}.")
    params = shape.vectors[vector]
    metric = METRICS.get(str(params["distance"]))
    if metric is None or params.get("multivector_config"):
        what = "more than one vector for each item" if metric else f"the distance {params['distance']}"
        raise InputError(f"{address} has {what}; unhub can correct Dot, Cosine and Euclid of single vectors.")
    return vector, int(params["size"]), metric
