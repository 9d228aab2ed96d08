"""What every adapter shares: the registry of stores, errors as one sentence, unit length, queries and results."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from unhub.foundation.errors import InputError, StoreError, UnhubError
from unhub.foundation.types import FloatArray
from unhub.scores.embedding import vectors as read_rows
from unhub.stores.address import Address, parse
from unhub.stores.protocol import Abilities, Collection, SearchResults

STORES: dict[str, str] = {
    "faiss": "faiss",
    "pgvector": "pgvector",
    "postgresql": "pgvector",
    "qdrant": "qdrant",
    "qdrant-edge": "qdrant.edge",
    "milvus": "milvus",
    "lancedb": "lancedb",
    "chroma": "chroma",
}
"""scheme of the address -> module of this package, which has ``open_collection(address)``"""

FILES = ("faiss", "lancedb", "qdrant-edge")
"""stores that are a file or a folder"""

PERHAPS_FILES = ("qdrant", "milvus", "chroma")
"""stores that are one if their address has no host, as in qdrant://./folder/photos"""

_LONGEST = 240
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

CLOSE, NEAR = 1e-3, 0.1
"""how far from one a length may be, and the mean length where a quantiser has blurred each"""
SMALLEST = 1e-20
"""squared lengths above this, and below its reciprocal, are safe in float32"""


def open_store(url: str | Address) -> Collection:
    """The collection at an address; nothing of it is read or changed yet."""
    address = parse(url) if isinstance(url, str) else url
    module = STORES.get(address.scheme)
    if module is None:
        close = difflib.get_close_matches(address.scheme, STORES, n=1)
        meant = f"did you mean {close[0]}://?" if close else f"known are {', '.join(f'{name}://' for name in STORES)}."
        raise InputError(f"there is no store {address.scheme!r}; {meant}")
    if address.file and (
        address.scheme in FILES or (address.scheme in PERHAPS_FILES and address.host in ("", ".", "..", "~"))
    ):
        address = address.absolute()
    opened: Collection = importlib.import_module(f"unhub.stores.{module}").open_collection(address)
    return opened


class CollectionBase:
    """What collections have in common: names from the address, and no aliases unless an adapter adds them."""

    abilities: Abilities
    longest_name: ClassVar[int] = 1 << 20
    """bytes of a name that the store accepts"""

    def __init__(self, address: Address) -> None:
        self.address = address

    @property
    def url(self) -> str:
        """The address, without passwords and keys."""
        return str(self.address)

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.address.parts[1]

    def derived(self, tag: str) -> str:
        """The name of what is written beside this collection: photos_unhub_1f3c9a2b, shortened where it must be."""
        ending = f"_unhub_{tag}"
        return self.name.encode()[: self.longest_name - len(ending)].decode(errors="ignore") + ending

    def alias(self, name: str) -> str | None:
        """None: this store has no aliases."""
        return None

    def set_alias(self, name: str, collection: str | None) -> None:
        """Refused: this store has no aliases."""
        raise InputError(f"{self.url}: this store has no aliases; open {collection} by its own name.")


def checked_queries(url: str, queries: FloatArray, dim: int) -> FloatArray:
    """Queries (query, dim) as contiguous float32, or an error if their dimension is another."""
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
    except Exception as error:
        told = StoreError(sentence(address, doing, error))
        raise told from (None if address.has_secrets else error)  # a client's own words might show them


def sentence(address: Address, doing: str, error: BaseException) -> str:
    """What to tell of a client's exception."""
    said = _short(address.hide(" ".join(str(error).split()).rstrip(".")) or type(error).__name__)
    folded = f"{type(error).__name__} {said}".casefold()
    if any(mark in folded for mark in _FULL):
        advice = "the disk is full there: free some space, then run the same again; what was written is kept"
    elif any(mark in folded for mark in _DENIED):
        advice = "give the user and the password or key, in the address or in the environment"
    elif isinstance(error, ConnectionError | TimeoutError) or any(mark in folded for mark in _GONE):
        advice = "see that the store runs and can be reached, then run the same again"
    elif "search" in doing:
        advice = "see that the filter, the name and the rights are as they should be"
    else:
        advice = "see that the address, the name and the rights are as they should be"
    return f"{address} {doing} ({said}); {advice}."


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def are_unit(vectors: FloatArray, *, blurred: bool = False) -> bool | None:
    """Whether every vector (item, dim) is of length one; None if there are none.

    Vectors that a quantiser gives back are ``blurred``: there the mean length has to do.

    >>> are_unit(np.eye(3)), are_unit(2 * np.eye(3)), are_unit(np.empty((0, 3)))
    (True, False, None)
    """
    if not len(vectors):
        return None
    lengths = np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1)
    if blurred:
        return bool(abs(lengths.mean() - 1) <= NEAR)
    return bool((np.abs(lengths - 1) <= CLOSE).all())


def unit_rows(vectors: FloatArray) -> FloatArray:
    """(item, dim) float32: each row divided by its length; a row of zeros stays one."""
    rows = np.asarray(vectors, dtype=np.float32)
    square = np.einsum("ij,ij->i", rows, rows)
    if rows.size and square.min() > SMALLEST and square.max() < 1 / SMALLEST:
        plain: FloatArray = rows / np.sqrt(square)[:, None]
        return plain
    scaled: FloatArray = read_rows(rows, 0, len(rows), normalize=True)
    return scaled
