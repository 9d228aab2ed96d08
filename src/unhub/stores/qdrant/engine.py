"""The few calls that the Qdrant adapter makes: one face for a server, a folder of local mode, a Qdrant Edge shard."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.qdrant.shape import Shape

_BY_PATH: weakref.WeakValueDictionary[str, Opened] = weakref.WeakValueDictionary()
_LOCK = threading.RLock()


class Point(NamedTuple):
    """One item as Qdrant has it; the vector of a collection that gives it no name is called ""."""

    id: int | str
    vectors: dict[str, Any]
    payload: dict[str, Any] | None


@dataclass(frozen=True)
class Having:
    """Only points that have this vector, or this field."""

    vector: str | None = None
    field: str | None = None


@dataclass(frozen=True)
class Ask:
    """What all queries of a search have in common."""

    k: int
    vector: str
    filter: Any = None
    exact: bool = False
    effort: int | None = None
    """the size of HNSW's candidate list"""
    oversampling: float | None = None
    """how many times k of a quantised search are scored again with the whole vectors; None leaves it to Qdrant"""
    field: str | None = None
    """the payload field that is added to the score of the ``fetch`` best"""
    fetch: int = 0
    squared: bool = False
    """whether the score is a distance d, of which -d^2/2 is taken before the field is added"""


class Engine(Protocol):
    """One collection of one Qdrant. Whatever goes wrong comes out as the exception of the client below."""

    @property
    def aliases_exist(self) -> bool:
        """Whether the store has aliases."""

    @property
    def opened(self) -> Opened:
        """What it is reached through."""

    def beside(self, name: str) -> Engine:
        """The collection of another name in the same store."""

    def exists(self) -> bool:
        """Whether it is there."""

    def shape(self) -> Shape:
        """How it is set up."""

    def count(self, having: Having) -> int:
        """The number of points, exactly."""

    def page(self, start: Any, limit: int, having: Having, *, whole: bool) -> tuple[list[Point], Any]:
        """The next points in the order of their ids, with vectors and payload if ``whole``; and where to go on."""

    def ask(self, vectors: list[list[float]], ask: Ask) -> list[list[tuple[int | str, float]]]:
        """The ids and scores that Qdrant gives for each query."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Writes points whole."""

    def delete(self, ids: Sequence[int | str]) -> None:
        """Takes points out."""

    def create(self, like: Any, vector: str, dim: int, distance: str) -> None:
        """Makes it as ``like`` is, except for this vector's size and distance, and marked as ours."""

    def marks(self) -> dict[str, str]:
        """What unhub has made here, by name: "collection", "payload" or "vector"."""

    def mark(self, name: str, kind: str | None) -> None:
        """Notes that unhub makes something of this name and kind here, before it does; None: it is gone."""

    def settle(self) -> None:
        """Builds the index, or waits until it is built."""

    def drop(self) -> None:
        """Removes it, or what a kill has left of making it; no error if it is not there."""

    def aliases(self) -> dict[str, str]:
        """Alias -> collection."""

    def set_alias(self, alias: str, collection: str | None) -> None:
        """Points an alias at a collection, or takes it away."""

    def set_field(self, field: str, ids: Sequence[int | str], values: FloatArray) -> None:
        """Sets a number in the payload of each of these points."""

    def unset_field(self, field: str, ids: Sequence[int | str]) -> None:
        """Takes the field away where it is."""

    def index_field(self, field: str, wanted: bool) -> None:
        """Indexes the field if the store insists on that, or forgets such an index."""

    def add_vector(self, vector: str, dim: int) -> None:
        """Adds a named vector that is ranked by inner product; no point has it yet."""

    def set_vectors(self, vector: str, ids: Sequence[int | str], vectors: FloatArray) -> None:
        """Sets the named vector of each of these points."""

    def unset_vectors(self, vector: str, ids: Sequence[int | str]) -> None:
        """Takes the named vector away where it is."""

    def remove_vector(self, vector: str) -> None:
        """Removes a named vector altogether."""


def own_id(text: str) -> int | str | None:
    """The id as Qdrant has it: a number below 2^64 or a UUID; None if it can be neither.

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
    made = [own_id(each) for each in ids]
    if url is not None and None in made:
        raise InputError(f"{url}: {ids[made.index(None)]!r} cannot be an id in Qdrant; use numbers from 0 or UUIDs.")
    return [own for own in made if own is not None]


def order(own: int | str) -> tuple[bool, int | str]:
    """What Qdrant sorts ids by: numbers first."""
    return isinstance(own, str), own


def by_name(vector: Any) -> dict[str, Any]:
    """A record's vectors by name; none at all where they were not asked for."""
    return {} if vector is None else vector if isinstance(vector, dict) else {"": vector}


def bare(vectors: dict[str, Any]) -> Any:
    """Vectors as they are written: one without a name stands alone."""
    return vectors[""] if len(vectors) == 1 and "" in vectors else vectors


class Opened:
    """Something with a ``close()`` that is opened when it is first asked for."""

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
        """What the user calls when it is done; it happens by itself when the user is gone."""
        with _LOCK:
            self._users += 1
        return weakref.finalize(user, self._leave)

    def shut(self) -> None:
        """Closes the client now, whoever uses it; the next who asks opens it again."""
        with _LOCK:
            client, self._client = self._client, None
            if client is not None:
                client.close()

    def _leave(self) -> None:
        with _LOCK:
            self._users -= 1
            if self._users == 0:
                self.shut()


def opened_at(path: str, open: Callable[[], Any]) -> Opened:
    """The one shared client of a folder."""
    with _LOCK:
        where = os.path.realpath(path)
        found = _BY_PATH.get(where)
        if found is None:
            _BY_PATH[where] = found = Opened(open)
        return found
