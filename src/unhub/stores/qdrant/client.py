"""Qdrant through its own client: a server at ``qdrant://host:6333/photos``, or a folder of the client's local mode at
``qdrant:///absolute/folder/photos`` and ``qdrant://./folder/photos``.

The key of a server comes from ``api_key=`` in the address or from the environment variable QDRANT_API_KEY.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.stores.address import Address
from unhub.stores.protocol import Collection
from unhub.stores.qdrant.collection import OPTIONS, QdrantCollection
from unhub.stores.qdrant.engine import Ask, Having, Opened, Point, bare, by_name, opened_at
from unhub.stores.qdrant.local_folder import check_folder
from unhub.stores.qdrant.requests import having as points_having
from unhub.stores.qdrant.requests import models, pointing, queries, settings_like, these
from unhub.stores.qdrant.shape import MADE, MARK, Shape, switch

_ROWS = 500
_NUMBERS = 500_000
"""points and floats of one request: well below the 32 MB that a server takes at once"""
_QUIET = 2
"""times that a server says one after another that it has nothing left to index"""
_LONGEST_PAUSE = 2.0
_TIMEOUT = 60
_NO_METADATA = (
    "this Qdrant server keeps no metadata of its collections, in which unhub notes what it has made; update the server "
    "to 1.16 or newer."
)


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


@dataclass(frozen=True)
class ClientEngine:
    """One collection through the client."""

    opened: Opened
    name: str
    folder: str | None = None
    """of local mode"""
    aliases_exist = True

    @property
    def client(self) -> Any:
        """The client, connected now if it is not yet."""
        return self.opened.client

    def beside(self, name: str) -> ClientEngine:
        """The collection of another name there."""
        return replace(self, name=name)

    def exists(self) -> bool:
        """Whether it is there."""
        if self.folder is not None and not os.path.exists(os.path.join(self.folder, "meta.json")):
            return False
        return bool(self.client.collection_exists(self.name))

    def shape(self) -> Shape:
        """How it is set up."""
        info = self.client.get_collection(self.name)
        config = info.config.model_dump(mode="json", exclude_none=True)
        vectors = config["params"].get("vectors") or {}
        vectors = {"": vectors} if "size" in vectors else vectors
        if self.folder is not None:  # local mode notes how vectors should be stored, and does not act on it
            vectors = {name: {**params, "datatype": None} for name, params in vectors.items()}
        return Shape(vectors, config["hnsw_config"], config.get("quantization_config"), info.indexed_vectors_count or 0)

    def count(self, having: Having) -> int:
        """The number of points, exactly."""
        return int(self.client.count(self.name, count_filter=points_having(having), exact=True).count)

    def page(self, start: Any, limit: int, having: Having, *, whole: bool) -> tuple[list[Point], Any]:
        """The next points and where to go on."""
        only = points_having(having)
        records, following = self.client.scroll(
            self.name, scroll_filter=only, limit=limit, offset=start, with_payload=whole, with_vectors=whole
        )
        points = [Point(each.id, by_name(each.vector), each.payload) for each in records]
        return points, following

    def ask(self, vectors: list[list[float]], ask: Ask) -> list[list[tuple[int | str, float]]]:
        """The ids and scores of each query."""
        # Local mode looks at everything anyway, and warns of parameters.
        requests = queries(vectors, ask, parameters=self.folder is None)
        answers = self.client.query_batch_points(self.name, requests=requests)
        return [[(hit.id, hit.score) for hit in answer.points] for answer in answers]

    def upsert(self, points: Sequence[Point]) -> None:
        """Writes points whole, with the retries of the client's own bulk write."""
        if not points:
            return
        numbers = sum(len(each) for each in points[0].vectors.values() if isinstance(each, list))
        self.client.upload_collection(
            self.name,
            ids=[each.id for each in points],
            # Local mode refuses a vector without a name as soon as there are others, which the engine itself does not.
            vectors=[bare(each.vectors) if self.folder is None else each.vectors for each in points],
            payload=[each.payload for each in points],
            batch_size=_rows(numbers),
            wait=True,
        )

    def delete(self, ids: Sequence[int | str]) -> None:
        """Takes points out."""
        if ids:
            self.client.delete(self.name, points_selector=list(ids), wait=True)

    def create(self, like: Any, vector: str, dim: int, distance: str) -> None:
        """Makes it as ``like`` is, except for this vector's size and distance."""
        info = self.client.get_collection(like.name)
        settings = settings_like(info.config, vector, dim, distance)
        settings["metadata"][f"{MADE}{self.name}"] = "collection"
        self.client.create_collection(self.name, **settings)
        for field, index in (info.payload_schema or {}).items():
            if MARK not in field:
                self.client.create_payload_index(self.name, field, index.params or index.data_type, wait=True)

    def marks(self) -> dict[str, str]:
        """What the collection's metadata says that unhub has made."""
        kept = self.client.get_collection(self.name).config.metadata or {}
        return {name.removeprefix(MADE): str(kind) for name, kind in kept.items() if name.startswith(MADE) and kind}

    def mark(self, name: str, kind: str | None) -> None:
        """Notes it in the collection's metadata, where a value of None takes a key away."""
        self.client.update_collection(self.name, metadata={f"{MADE}{name}": kind})
        if self.marks().get(name) != kind:
            raise StoreError(_NO_METADATA)

    def settle(self) -> None:
        """Waits until the server has nothing left to index; local mode has no index."""
        quiet, pause = 0, 0.05
        while self.folder is None and quiet < _QUIET:
            info = self.client.get_collection(self.name)
            status = str(getattr(info.status, "value", info.status))
            if status == "red":
                raise RuntimeError(f"the server could not build the index: {info.optimizer_status}")
            if status == "grey":  # after a start the server waits for any change before it goes on
                self.client.update_collection(self.name, optimizers_config=models().OptimizersConfigDiff())
            quiet = quiet + 1 if status == "green" else 0
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE, 1.5 * pause)

    def drop(self) -> None:
        """Removes it."""
        if self.exists():
            self.client.delete_collection(self.name)

    def aliases(self) -> dict[str, str]:
        """Alias -> collection."""
        return {each.alias_name: each.collection_name for each in self.client.get_aliases().aliases}

    def set_alias(self, alias: str, collection: str | None) -> None:
        """Takes the alias away and gives it anew, in one request."""
        changes = pointing(alias, there=alias in self.aliases(), collection=collection)
        if changes:
            self.client.update_collection_aliases(change_aliases_operations=changes)

    def set_field(self, field: str, ids: Sequence[int | str], values: FloatArray) -> None:
        """Sets a number in the payload of each of these points."""
        make = models()
        changes = [
            make.SetPayloadOperation(set_payload=make.SetPayload(payload={field: value}, points=[own]))
            for own, value in zip(ids, values.tolist(), strict=True)
        ]
        for start in range(0, len(changes), _ROWS):
            self.client.batch_update_points(self.name, changes[start : start + _ROWS], wait=True)

    def unset_field(self, field: str, ids: Sequence[int | str]) -> None:
        """Takes the field away where it is."""
        if ids:
            self.client.delete_payload(self.name, keys=[field], points=these(ids), wait=True)

    def index_field(self, field: str, wanted: bool) -> None:
        """Indexes the field if strict mode refuses fields without; otherwise an index costs more than it brings."""
        info = self.client.get_collection(self.name)
        strict = info.config.strict_mode_config
        if wanted and strict is not None and strict.enabled and strict.unindexed_filtering_retrieve is False:
            self.client.create_payload_index(self.name, field, models().PayloadSchemaType.FLOAT, wait=True)
        if not wanted and field in (info.payload_schema or {}):
            self.client.delete_payload_index(self.name, field, wait=True)

    def add_vector(self, vector: str, dim: int) -> None:
        """Adds a named vector that is ranked by inner product."""
        dense = models().DenseVectorConfig(size=dim, distance=models().Distance.DOT)
        self.client.create_vector_name(self.name, vector, models().DenseVectorNameConfig(dense=dense))

    def set_vectors(self, vector: str, ids: Sequence[int | str], vectors: FloatArray) -> None:
        """Sets the named vector of each of these points."""
        make, rows = models(), _rows(vectors.shape[1])
        paired = zip(ids, vectors.tolist(), strict=True)
        points = [make.PointVectors(id=own, vector={vector: row}) for own, row in paired]
        for start in range(0, len(points), rows):
            self.client.update_vectors(self.name, points[start : start + rows], wait=True)

    def unset_vectors(self, vector: str, ids: Sequence[int | str]) -> None:
        """Takes the named vector away where it is."""
        if ids:
            self.client.delete_vectors(self.name, vectors=[vector], points=these(ids), wait=True)

    def remove_vector(self, vector: str) -> None:
        """Removes a named vector altogether."""
        self.client.delete_vector_name(self.name, vector)


def _rows(numbers: int) -> int:
    """Points of so many floats for one request."""
    return min(_ROWS, max(1, _NUMBERS // max(1, numbers)))
