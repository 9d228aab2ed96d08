"""Which adapter opens which address."""

from __future__ import annotations

import difflib
import importlib

from unhub.foundation.errors import InputError
from unhub.stores.address import Address, parse
from unhub.stores.protocol import Collection

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
