"""What every adapter shares: the registry of stores, the base class of collections, errors as one sentence."""

from __future__ import annotations

import difflib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from unhub.foundation.errors import InputError, StoreError, UnhubError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.scores.embedding import vectors as read_rows
from unhub.stores.address import Address, parse
from unhub.stores.interface import BLOCK, Abilities, Block, Description, Metric, SearchResults

T = TypeVar("T")

STORES: dict[str, str] = {
    "faiss": "faiss.collection",
    "pgvector": "pgvector.collection",
    "postgresql": "pgvector.collection",
    "qdrant": "qdrant.client",
    "qdrant-edge": "qdrant.edge",
    "milvus": "milvus.collection",
    "lancedb": "lancedb.collection",
    "chroma": "chroma.collection",
}
"""scheme of the address -> module of this package, which has ``open_collection(address)``"""
FILES = ("faiss", "lancedb", "qdrant-edge")  # stores that are a file or a folder
PERHAPS_FILES = ("qdrant", "milvus", "chroma")  # files if the address has no host, as in qdrant://./folder/photos

_LONGEST = 240  # characters of a client's message that are shown
_GONE = (
    "connection refused", "connection reset", "connection aborted", "connection closed", "server closed the connection",
    "connection is lost", "connection is closed", "unavailable", "timed out", "timeout", "deadline exceeded",
    "disconnected", "could not connect", "failed to connect", "failed connecting", "connection failed",
    "connect call failed", "broken pipe", "all connection attempts failed", "name or service not known",
    "shutting down", "terminating connection", "retry limit", "is the server running",
)  # fmt: skip
_DENIED = (
    "no password supplied", "password authentication", "authentication failed", "unauthorized", "unauthenticated",
    "not authorized", "forbidden", "invalid api key", "invalid token", "must provide an api key",
)  # fmt: skip
_FULL = ("no space left", "disk is full", "disk full", "could not extend file", "enospc")

CLOSE, NEAR = 1e-3, 0.1  # how far from 1 a length may be, and the mean length of quantised vectors
SMALLEST = 1e-20  # squared lengths above this, and below its reciprocal, are safe in float32


def open_store(url: str | Address) -> Collection:
    """The collection at an address; nothing is read or changed yet."""
    address = parse(url) if isinstance(url, str) else url
    module = STORES.get(address.scheme)
    if module is None:
        close = difflib.get_close_matches(address.scheme, STORES, n=1)
        hint = f"did you mean {close[0]}://?" if close else f"known are {', '.join(f'{name}://' for name in STORES)}."
        raise InputError(f"there is no store {address.scheme!r}; {hint}")
    local = address.scheme in FILES or (address.scheme in PERHAPS_FILES and address.host in ("", ".", "..", "~"))
    if address.file and local:
        address = address.absolute()
    opened: Collection = importlib.import_module(f"unhub.stores.{module}").open_collection(address)
    return opened


class Collection(ABC):
    """One collection (table, index file) of one store. Opening it changes nothing in the store.

    What callers use is here, and turns whatever the client raises into one sentence. An adapter implements the methods
    with an underscore, in the words of its client, and translates distances into similarities: larger is better. Ids
    are strings outside an adapter and the store's own type inside it; a search returns the store's own.
    """

    kind: ClassVar[str]
    abilities: Abilities
    longest_name: ClassVar[int] = 1 << 20  # bytes that the store accepts in a name
    _effort: float = 1.0  # how many times as much as usual a search looks at, where every search is told

    def __init__(self, address: Address) -> None:
        self.address = address

    @property
    def url(self) -> str:
        """The address that opens it again, without passwords and keys."""
        return str(self.address)

    @property
    def name(self) -> str:
        """Its name within the store."""
        return self.address.parts[1]

    def exists(self) -> bool:
        """Whether the store has it."""
        with self.errors("cannot be reached"):
            return self._exists()

    def describe(self) -> Description:
        """Metric, dimension, count and index, as they are now."""
        with self.errors("cannot be read"):
            return self._describe()

    def scan(self, block: int = BLOCK) -> Iterator[Block]:
        """Every item once, always in the same order while nothing changes, in blocks of at most this many."""
        return self._each(self._scan(block))

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids alone, in the order of ``scan``."""
        return self._each(self._ids(block))

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k most similar items of each query (query, dim); the filter is what the store's client takes."""
        if exact and not self.abilities.exact:
            raise InputError(f"{self.url}: {self.kind} cannot search past its index; leave out exact=True.")
        with self.errors("cannot be searched"):
            return self._search(queries, k, filter, exact)

    def raise_effort(self, factor: float) -> bool:
        """Makes searches look at this many times as much; False if the index has no such setting."""
        with self.errors("cannot be searched"):
            if not self._tunable():
                return False
        self._effort *= factor
        return True

    def derived(self, tag: str) -> str:
        """The name of what is written beside this collection: photos_unhub_1f3c9a2b, shortened where it must be."""
        ending = f"_unhub_{tag}"
        return self.name.encode()[: self.longest_name - len(ending)].decode(errors="ignore") + ending

    @abstractmethod
    def sibling(self, name: str) -> Collection:
        """The collection of another name in the same store, through the same client; it need not exist."""

    def create(self, like: Collection, dim: int, metric: Metric) -> None:
        """Makes it, empty, with the kind of index and the other fields of ``like``; no error if it exists.

        It carries unhub's mark from its first moment, in the store's own metadata.
        """
        if not isinstance(like, type(self)):
            raise InputError(f"{self.url} can only be made like another {self.kind} one, not like {like.url}.")
        with self.errors("cannot be created"):
            self._create(like, dim, metric)

    def made_by_unhub(self) -> bool:
        """Whether it exists and carries the mark that ``create`` leaves."""
        with self.errors("cannot be read"):
            return self._exists() and self._marked()

    def upsert(self, block: Block) -> None:
        """Writes items with their vectors and payload; items with the same ids are replaced."""
        with self.errors("cannot be written"):
            self._upsert(block)

    def delete(self, ids: Sequence[str]) -> None:
        """Removes items; an unknown id is no error."""
        with self.errors("cannot be changed"):
            self._delete(ids)

    def finish(self) -> None:
        """Called after the last ``upsert``: builds the index like that of the origin, flushes; may be called again."""
        with self.errors("cannot be finished"):
            self._finish()

    def drop(self) -> None:
        """Removes the whole collection; no error if it does not exist."""
        with self.errors("cannot be removed"):
            self._drop()

    def alias(self, name: str) -> str | None:
        """The collection that an alias points to, or None."""
        with self.errors("cannot be read"):
            return self._alias(name)

    def set_alias(self, name: str, collection: str | None) -> None:
        """Points an alias at a collection in one step, or removes it (None); may be called again."""
        if not self.abilities.aliases:
            if collection is None:
                return
            raise InputError(f"{self.url}: this store has no aliases; open {collection} by its own name.")
        with self.errors(f"cannot be given the alias {name}"):
            self._set_alias(name, collection)

    @abstractmethod
    def close(self) -> None:
        """Closes connections and files; they are opened again if they are needed."""

    def errors(self, doing: str) -> AbstractContextManager[None]:
        """``guarded`` at this address; an adapter adds what its client needs."""
        return guarded(self.address, doing)

    def _each(self, pages: Iterator[T]) -> Iterator[T]:
        """The pages; only reading is guarded, and not what the caller does between two of them."""
        with closing(cast("Generator[T, None, None]", pages)):
            while True:
                with self.errors("cannot be read"):
                    page = next(pages, None)
                if page is None:
                    return
                yield page

    @abstractmethod
    def _exists(self) -> bool: ...
    @abstractmethod
    def _describe(self) -> Description: ...
    @abstractmethod
    def _scan(self, block: int) -> Iterator[Block]: ...
    @abstractmethod
    def _ids(self, block: int) -> Iterator[list[str]]: ...
    @abstractmethod
    def _search(self, queries: FloatArray, k: int, filter: Any, exact: bool) -> SearchResults: ...
    @abstractmethod
    def _create(self, like: Any, dim: int, metric: Metric) -> None: ...
    @abstractmethod
    def _marked(self) -> bool: ...
    @abstractmethod
    def _upsert(self, block: Block) -> None: ...
    @abstractmethod
    def _delete(self, ids: Sequence[str]) -> None: ...
    @abstractmethod
    def _finish(self) -> None: ...
    @abstractmethod
    def _drop(self) -> None: ...
    def _tunable(self) -> bool:
        return False

    def _alias(self, name: str) -> str | None:
        return None

    def _set_alias(self, name: str, collection: str | None) -> None:
        raise NotImplementedError


class LazyModule:
    """A client's package, imported when one of its names is first used."""

    def __init__(self, name: str, *, extra: str) -> None:
        self._name, self._extra = name, extra

    def __getattr__(self, name: str) -> Any:
        return getattr(require(self._name, extra=self._extra), name)


def checked_queries(url: str, queries: FloatArray, dim: int) -> FloatArray:
    """Queries (query, dim) as contiguous float32; an error if they have another dimension."""
    rows = np.atleast_2d(np.ascontiguousarray(queries, dtype=np.float32))
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise InputError(
            "queries", f"have shape {rows.shape} but {url} has dimension {dim}", "embed both with the same model"
        )
    return rows


def results_of(hits: Iterable[tuple[Sequence[Any], Any]], k: int) -> SearchResults:
    """Results (query, k) from the ids and scores of each query, filled with None and minus infinity."""
    rows = list(hits)
    ids = np.full((len(rows), k), None, dtype=object)
    scores = np.full((len(rows), k), -np.inf, dtype=np.float32)
    for row, (some, values) in enumerate(rows):
        ids[row, : len(some)] = some
        scores[row, : len(some)] = values
    return SearchResults(ids, scores)


@contextmanager
def guarded(address: Address, doing: str) -> Iterator[None]:
    """Turns whatever a client raises inside into a StoreError that says where, what, and what to do.

    ``doing`` completes "qdrant://localhost/photos ...": such as "cannot be read".
    """
    try:
        yield
    except (UnhubError, GeneratorExit):
        raise
    except Exception as error:  # the client's own message might show a secret
        raise StoreError(sentence(address, doing, error)) from (None if address.has_secrets else error)


def sentence(address: Address, doing: str, error: BaseException) -> str:
    """A client's exception as one sentence with advice, without secrets."""
    reason = address.hide(" ".join(str(error).split()).rstrip(".")) or type(error).__name__
    reason = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}..."
    folded = f"{type(error).__name__} {reason}".casefold()
    if any(mark in folded for mark in _FULL):
        advice = "the disk is full there: free some space, then run the same again; what was written is kept"
    elif any(mark in folded for mark in _DENIED):
        advice = "give the user and the password or key, in the address or in the environment"
    elif isinstance(error, ConnectionError | TimeoutError) or any(mark in folded for mark in _GONE):
        advice = "check that the store runs and can be reached, then run the same again"
    else:
        advice = f"check the {'filter' if 'search' in doing else 'address'}, the name and your rights"
    return f"{address} {doing} ({reason}); {advice}."


def are_unit(vectors: FloatArray, *, blurred: bool = False) -> bool | None:
    """Whether every vector (item, dim) has length 1; None if there are none.

    blurred: they come back from a quantiser; then their mean length decides.

    >>> are_unit(np.eye(3)), are_unit(2 * np.eye(3)), are_unit(np.empty((0, 3)))
    (True, False, None)
    """
    if not len(vectors):
        return None
    lengths = np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1)
    return bool(abs(lengths.mean() - 1) <= NEAR if blurred else (np.abs(lengths - 1) <= CLOSE).all())


def unit_rows(vectors: FloatArray) -> FloatArray:
    """(item, dim) float32: each row divided by its length; a row of zeros stays one."""
    rows = np.asarray(vectors, dtype=np.float32)
    square = np.einsum("ij,ij->i", rows, rows)
    if rows.size and square.min() > SMALLEST and square.max() < 1 / SMALLEST:
        plain: FloatArray = rows / np.sqrt(square)[:, None]
        return plain
    scaled: FloatArray = read_rows(rows, 0, len(rows), normalize=True)
    return scaled
