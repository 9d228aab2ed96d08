"""Qdrant through its own client: a server at ``qdrant://host:6333/photos``, or a folder of the client's local mode at
``qdrant:///absolute/folder/photos`` and ``qdrant://./folder/photos``.

The key of a server comes from ``api_key=`` in the address or from the environment variable QDRANT_API_KEY.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.stores.address import Address
from unhub.stores.protocol import Collection
from unhub.stores.qdrant.client_engine import ClientEngine
from unhub.stores.qdrant.collection import OPTIONS, QdrantCollection
from unhub.stores.qdrant.local_folder import check_folder
from unhub.stores.qdrant.opened import Opened, opened_at
from unhub.stores.qdrant.shape import switch

_TIMEOUT = 60


def open_collection(address: Address) -> Collection:
    """The collection at an address; nothing is connected yet."""
    if address.host in ("", "."):
        address.allow(*OPTIONS)
        folder, name = address.parts
        if not folder.strip("/.") or not name:
            raise InputError(f"{address}: give a folder and a name in it, such as qdrant:///data/qdrant/photos.")
        where = os.path.abspath(folder)
        return QdrantCollection(address, ClientEngine(opened_at(where, lambda: _local(where)), name, where))
    address.allow(*OPTIONS, "timeout", "https", "grpc_port", "prefer_grpc")
    if not address.path.strip("/"):
        raise InputError(f"{address}: give the name of a collection, such as qdrant://{address.host}/photos.")
    key = address.secret("api_key", "apikey", "token", "key") or address.password or os.environ.get("QDRANT_API_KEY")
    if key:  # from wherever it came, no message may show it
        address = replace(address, secrets={**address.secrets, "api_key": key})
    settings = _server(address, key)
    client = Opened(lambda: require("qdrant_client", extra="qdrant").QdrantClient(**settings))
    return QdrantCollection(address, ClientEngine(client, address.parts[1]))


def _server(address: Address, key: str | None) -> dict[str, Any]:
    """What the client is given to reach the server."""
    return {
        "host": address.host,
        "port": address.port or 6333,
        "grpc_port": int(address.number("grpc_port", 6334)),
        "prefer_grpc": bool(switch(address, "prefer_grpc")),
        "https": switch(address, "https"),
        "api_key": key,
        "prefix": address.path.strip("/").rpartition("/")[0] or None,
        "timeout": math.ceil(address.number("timeout", _TIMEOUT)),
        "check_compatibility": False,
    }


def _local(folder: str) -> Any:
    """The client in local mode, in a folder where it has been before: it would make any other, and that is a change."""
    if not os.path.exists(os.path.join(folder, "meta.json")):
        raise FileNotFoundError(f"no Qdrant client has written to the folder {folder}")
    check_folder(folder)
    return require("qdrant_client", extra="qdrant").QdrantClient(path=folder)
