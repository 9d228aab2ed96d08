"""Qdrant through its client: a server at ``qdrant://host:6333/photos``, or a folder of the client's local mode at
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
from unhub.stores.adapter import LazyModule
from unhub.stores.address import Address
from unhub.stores.qdrant.collection import OPTIONS, QdrantCollection
from unhub.stores.qdrant.engine import MARK, Having, Point, SearchRequest, Shape, SharedClient, bare, by_name, shared_at
from unhub.stores.qdrant.local_folder import check_folder

models = LazyModule("qdrant_client.models", extra="qdrant")
_MADE = "unhub:"  # before the name of what unhub made, as a key in the metadata of the collection that it is or is in
_ROWS, _NUMBERS = 500, 500_000  # points and floats of one request: well below the 32 MB that a server takes
_QUIET = 2  # times in a row that a server must have nothing left to index
_LONGEST_PAUSE = 2.0
_TIMEOUT = 60
_NO_METADATA = (
    "this Qdrant server keeps no metadata, where unhub notes what it makes; update the server to 1.16 or newer."
)


def open_collection(address: Address) -> QdrantCollection:
    """The collection at an address; nothing is connected yet."""
    if address.host in ("", "."):
        address.allow(*OPTIONS)
        folder, name = address.parts
        if not folder.strip("/.") or not name:
            raise InputError(f"{address}: give a folder and a name in it, such as qdrant:///data/qdrant/photos.")
        where = os.path.abspath(folder)
        return QdrantCollection(address, _ClientEngine(shared_at(where, lambda: _local(where)), name, where))
    address.allow(*OPTIONS, "timeout", "https", "grpc_port", "prefer_grpc")
    if not address.path.strip("/"):
        raise InputError(f"{address}: give the name of a collection, such as qdrant://{address.host}/photos.")
    key = address.secret("api_key", "apikey", "token", "key") or address.password or os.environ.get("QDRANT_API_KEY")
    if key:  # wherever it came from, no message may show it
        address = replace(address, secrets={**address.secrets, "api_key": key})
    settings = _server(address, key)
    client = SharedClient(lambda: require("qdrant_client", extra="qdrant").QdrantClient(**settings))
    return QdrantCollection(address, _ClientEngine(client, address.parts[1]))


def _server(address: Address, key: str | None) -> dict[str, Any]:
    """The client's arguments for a server."""
    return {
        "host": address.host,
        "port": address.port or 6333,
        "grpc_port": int(address.number("grpc_port", 6334)),
        "prefer_grpc": bool(address.switch("prefer_grpc")),
        "https": address.switch("https"),
        "api_key": key,
        "prefix": address.path.strip("/").rpartition("/")[0] or None,
        "timeout": math.ceil(address.number("timeout", _TIMEOUT)),
        "check_compatibility": False,
    }


def _local(folder: str) -> Any:
    """The client in local mode, in a folder that it has used before: it would create any other."""
    if not os.path.exists(os.path.join(folder, "meta.json")):
        raise FileNotFoundError(f"no Qdrant client has written to the folder {folder}")
    check_folder(folder)
    return require("qdrant_client", extra="qdrant").QdrantClient(path=folder)


@dataclass(frozen=True)
class _ClientEngine:
    """The engine of a server or of local mode."""

    opened: SharedClient
    name: str
    folder: str | None = None  # of local mode
    aliases_exist = True

    @property
    def client(self) -> Any:
        return self.opened.client

    def beside(self, name: str) -> _ClientEngine:
        return replace(self, name=name)

    def exists(self) -> bool:
        if self.folder is not None and not os.path.exists(os.path.join(self.folder, "meta.json")):
            return False
        return bool(self.client.collection_exists(self.name))

    def shape(self) -> Shape:
        info = self.client.get_collection(self.name)
        config = info.config.model_dump(mode="json", exclude_none=True)
        vectors = config["params"].get("vectors") or {}
        vectors = {"": vectors} if "size" in vectors else vectors
        if self.folder is not None:  # local mode notes how vectors should be stored, and does not act on it
            vectors = {name: {**params, "datatype": None} for name, params in vectors.items()}
        return Shape(vectors, config["hnsw_config"], config.get("quantization_config"), info.indexed_vectors_count or 0)

    def count(self, having: Having) -> int:
        return int(self.client.count(self.name, count_filter=_having(having), exact=True).count)

    def page(self, start: Any, limit: int, having: Having, *, whole: bool) -> tuple[list[Point], Any]:
        records, following = self.client.scroll(
            self.name, _having(having), limit=limit, offset=start, with_payload=whole, with_vectors=whole
        )
        return [Point(each.id, by_name(each.vector), each.payload) for each in records], following

    def search(self, vectors: list[list[float]], request: SearchRequest) -> list[list[tuple[int | str, float]]]:
        # Local mode looks at everything anyway, and warns about parameters.
        requests = _queries(vectors, request, parameters=self.folder is None)
        answers = self.client.query_batch_points(self.name, requests=requests)
        return [[(hit.id, hit.score) for hit in answer.points] for answer in answers]

    def upsert(self, points: Sequence[Point]) -> None:
        # By the client's own bulk write, which retries.
        if not points:
            return
        numbers = sum(len(each) for each in points[0].vectors.values() if isinstance(each, list))
        self.client.upload_collection(
            self.name,
            ids=[each.id for each in points],
            # Local mode refuses a vector without a name beside others; the engine itself does not.
            vectors=[bare(each.vectors) if self.folder is None else each.vectors for each in points],
            payload=[each.payload for each in points],
            batch_size=_rows(numbers),
            wait=True,
        )

    def delete(self, ids: Sequence[int | str]) -> None:
        if ids:
            self.client.delete(self.name, points_selector=list(ids), wait=True)

    def create(self, like: Any, vector: str, dim: int, distance: str) -> None:
        info = self.client.get_collection(like.name)
        settings = settings_like(info.config, vector, dim, distance)
        settings["metadata"][f"{_MADE}{self.name}"] = "collection"
        self.client.create_collection(self.name, **settings)
        for field, index in (info.payload_schema or {}).items():
            if MARK not in field:
                self.client.create_payload_index(self.name, field, index.params or index.data_type, wait=True)

    def marks(self) -> dict[str, str]:
        metadata = self.client.get_collection(self.name).config.metadata or {}
        ours = {name: str(kind) for name, kind in metadata.items() if name.startswith(_MADE) and kind}
        return {name.removeprefix(_MADE): kind for name, kind in ours.items()}

    def mark(self, name: str, kind: str | None) -> None:
        # In the collection's metadata, where a value of None removes a key.
        self.client.update_collection(self.name, metadata={f"{_MADE}{name}": kind})
        if self.marks().get(name) != kind:
            raise StoreError(_NO_METADATA)

    def settle(self) -> None:
        # Waits until the server has nothing left to index; local mode has no index.
        quiet, pause = 0, 0.05
        while self.folder is None and quiet < _QUIET:
            info = self.client.get_collection(self.name)
            status = str(getattr(info.status, "value", info.status))
            if status == "red":
                raise RuntimeError(f"the server could not build the index: {info.optimizer_status}")
            if status == "grey":  # after a start the server waits for any change before it goes on
                self.client.update_collection(self.name, optimizers_config=models.OptimizersConfigDiff())
            quiet = quiet + 1 if status == "green" else 0
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE, 1.5 * pause)

    def drop(self) -> None:
        if self.exists():
            self.client.delete_collection(self.name)

    def aliases(self) -> dict[str, str]:
        return {each.alias_name: each.collection_name for each in self.client.get_aliases().aliases}

    def set_alias(self, alias: str, collection: str | None) -> None:
        changes = []  # in one request
        if alias in self.aliases():
            changes.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)))
        if collection is not None:
            new = models.CreateAlias(collection_name=collection, alias_name=alias)
            changes.append(models.CreateAliasOperation(create_alias=new))
        if changes:
            self.client.update_collection_aliases(change_aliases_operations=changes)

    def set_field(self, field: str, ids: Sequence[int | str], values: FloatArray) -> None:
        changes = [
            models.SetPayloadOperation(set_payload=models.SetPayload(payload={field: value}, points=[own]))
            for own, value in zip(ids, values.tolist(), strict=True)
        ]
        for start in range(0, len(changes), _ROWS):
            self.client.batch_update_points(self.name, changes[start : start + _ROWS], wait=True)

    def unset_field(self, field: str, ids: Sequence[int | str]) -> None:
        if ids:
            self.client.delete_payload(self.name, keys=[field], points=_these(ids), wait=True)

    def index_field(self, field: str, wanted: bool) -> None:
        # Only strict mode may refuse fields without an index; otherwise an index costs more than it brings.
        info = self.client.get_collection(self.name)
        strict = info.config.strict_mode_config
        if wanted and strict is not None and strict.enabled and strict.unindexed_filtering_retrieve is False:
            self.client.create_payload_index(self.name, field, models.PayloadSchemaType.FLOAT, wait=True)
        if not wanted and field in (info.payload_schema or {}):
            self.client.delete_payload_index(self.name, field, wait=True)

    def add_vector(self, vector: str, dim: int) -> None:
        dense = models.DenseVectorConfig(size=dim, distance=models.Distance.DOT)
        self.client.create_vector_name(self.name, vector, models.DenseVectorNameConfig(dense=dense))

    def set_vectors(self, vector: str, ids: Sequence[int | str], vectors: FloatArray) -> None:
        rows = _rows(vectors.shape[1])
        paired = zip(ids, vectors.tolist(), strict=True)
        points = [models.PointVectors(id=own, vector={vector: row}) for own, row in paired]
        for start in range(0, len(points), rows):
            self.client.update_vectors(self.name, points[start : start + rows], wait=True)

    def unset_vectors(self, vector: str, ids: Sequence[int | str]) -> None:
        if ids:
            self.client.delete_vectors(self.name, vectors=[vector], points=_these(ids), wait=True)

    def remove_vector(self, vector: str) -> None:
        self.client.delete_vector_name(self.name, vector)


def _rows(numbers: int) -> int:
    """How many points with this many floats go into one request."""
    return min(_ROWS, max(1, _NUMBERS // max(1, numbers)))


def _having(what: Having) -> Any:
    """The filter for points that have a vector or a field; None for all points."""
    if what.vector is not None:
        return models.Filter(must=[models.HasVectorCondition(has_vector=what.vector)])
    if what.field is not None:
        empty = models.IsEmptyCondition(is_empty=models.PayloadField(key=what.field))
        return models.Filter(must_not=[empty])
    return None


def _these(ids: Sequence[int | str]) -> Any:
    """The filter for these points; a list of ids would be refused if one of them does not exist."""
    return models.Filter(must=[models.HasIdCondition(has_id=list(ids))])


def _queries(vectors: list[list[float]], request: SearchRequest, *, parameters: bool) -> list[Any]:
    """One request for each vector."""
    narrow = models.Filter(**request.filter) if isinstance(request.filter, dict) else request.filter
    common: dict[str, Any] = {"using": request.vector or None, "filter": narrow}
    if parameters:
        times = request.oversampling
        again = None if times is None else models.QuantizationSearchParams(rescore=True, oversampling=times)
        common["params"] = models.SearchParams(exact=request.exact, hnsw_ef=request.effort, quantization=again)
    if request.field is None:
        return [models.QueryRequest(query=each, limit=request.k, **common) for each in vectors]
    score = models.MultExpression(mult=[-0.5, "$score", "$score"]) if request.squared else "$score"
    total = models.FormulaQuery(formula=models.SumExpression(sum=[score, request.field]), defaults={request.field: 0.0})
    return [
        models.QueryRequest(
            prefetch=models.Prefetch(query=each, limit=request.fetch, **common), query=total, limit=request.k
        )
        for each in vectors
    ]


def settings_like(config: Any, vector: str, dim: int, distance: str) -> dict[str, Any]:
    """The arguments of ``create_collection`` for a collection like one with this configuration."""
    params = config.params
    if str(getattr(params.sharding_method, "value", params.sharding_method)) == "custom":
        raise InputError("this collection has shard keys, which a new one cannot have; choose the strategy payload.")
    named = params.vectors if isinstance(params.vectors, dict) else {"": params.vectors}
    vectors = {name: each for name, each in named.items() if MARK not in name}
    # Whole numbers from 0 to 255 cannot hold a bias.
    bytes_only = str(getattr(vectors[vector].datatype, "value", "")) == "uint8"
    change = {"size": dim, "distance": models.Distance(distance), **({"datatype": None} if bytes_only else {})}
    vectors[vector] = vectors[vector].model_copy(update=change)
    return {
        "vectors_config": vectors[""] if set(vectors) == {""} else vectors,
        "sparse_vectors_config": params.sparse_vectors,
        "shard_number": params.shard_number,
        "replication_factor": params.replication_factor,
        "write_consistency_factor": params.write_consistency_factor,
        "on_disk_payload": params.on_disk_payload,
        "hnsw_config": _as(models.HnswConfigDiff, config.hnsw_config),
        "optimizers_config": _as(models.OptimizersConfigDiff, config.optimizer_config),
        "wal_config": _as(models.WalConfigDiff, config.wal_config),
        "quantization_config": config.quantization_config,
        "strict_mode_config": _as(models.StrictModeConfig, config.strict_mode_config),
        "metadata": {name: each for name, each in (config.metadata or {}).items() if not name.startswith(_MADE)},
        "payload": params.payload,
        "id_tracker": params.id_tracker,
    }


def _as(kind: Any, settings: Any) -> Any:
    """The same settings as another class of the client."""
    return None if settings is None else kind(**settings.model_dump(exclude_none=True))
