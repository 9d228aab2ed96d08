"""Qdrant Edge, the engine inside this process: ``qdrant-edge:///folder/photos`` is the shard in the folder ``photos``.

The shard's settings are read from its own file, because the package has no call for them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import LazyModule
from unhub.stores.address import Address
from unhub.stores.qdrant.collection import OPTIONS, QdrantCollection
from unhub.stores.qdrant.engine import MARK, Having, Point, SearchRequest, Shape, SharedClient, bare, by_name, shared_at

edge = LazyModule("qdrant_edge", extra="qdrant")
_CONFIG = "edge_config.json"
_MADE = ".made-by-unhub"  # after the name of what unhub made, as an empty file in the folder of the shard
_HNSW = {"m": 16, "full_scan_threshold": 10_000}  # the engine's defaults
_ROWS = 256  # points of one update: larger ones are slower
_MATCHES = {
    "value": "MatchValue", "any": "MatchAny", "except": "MatchExcept", "text": "MatchText", "text_any": "MatchTextAny",
    "phrase": "MatchPhrase",
}  # fmt: skip
_CLAUSES = ("must", "should", "must_not")


def open_collection(address: Address) -> QdrantCollection:
    """The shard at an address; nothing is opened yet."""
    address.allow(*OPTIONS)
    folder, name = address.parts
    if not folder.strip("/.") or not name:
        raise InputError(f"{address}: give a folder and a shard in it, such as qdrant-edge:///data/photos.")
    return QdrantCollection(address, _EdgeEngine(os.path.abspath(folder), name))


@dataclass(frozen=True)
class _EdgeEngine:
    """The engine of one shard."""

    folder: str
    name: str
    aliases_exist = False

    @property
    def path(self) -> str:
        return os.path.join(self.folder, self.name)

    @cached_property
    def opened(self) -> SharedClient:
        return shared_at(self.path, self._load)

    @property
    def shard(self) -> Any:
        return self.opened.client

    def beside(self, name: str) -> _EdgeEngine:
        return _EdgeEngine(self.folder, name)

    def exists(self) -> bool:
        return os.path.exists(os.path.join(self.path, _CONFIG))

    def shape(self) -> Shape:
        indexed = self.shard.info().indexed_vectors_count
        config = self.config()
        hnsw = {**_HNSW, **(config.get("hnsw_config") or {})}
        return Shape(config["vectors"], hnsw, config.get("quantization_config"), indexed)

    def config(self) -> dict[str, Any]:
        with open(os.path.join(self.path, _CONFIG), encoding="utf-8") as file:
            settings: dict[str, Any] = json.load(file)
        return settings

    def count(self, having: Having) -> int:
        return int(self.shard.count(edge.CountRequest(exact=True, filter=_having(having))))

    def page(self, start: Any, limit: int, having: Having, *, whole: bool) -> tuple[list[Point], Any]:
        records, following = self.shard.scroll(
            edge.ScrollRequest(offset=start, limit=limit, filter=_having(having), with_payload=whole, with_vector=whole)
        )
        return [Point(_plain(each.id), by_name(each.vector), each.payload) for each in records], following

    def search(self, vectors: list[list[float]], request: SearchRequest) -> list[list[tuple[int | str, float]]]:
        answers = self.shard.query_batch(_queries(vectors, request))
        return [[(_plain(hit.id), hit.score) for hit in answer] for answer in answers]

    def upsert(self, points: Sequence[Point]) -> None:
        for start in range(0, len(points), _ROWS):
            some = points[start : start + _ROWS]
            rows = [edge.Point(each.id, bare(each.vectors), each.payload) for each in some]
            self.shard.update(edge.UpdateOperation.upsert_points(rows))

    def delete(self, ids: Sequence[int | str]) -> None:
        if ids:
            self.shard.update(edge.UpdateOperation.delete_points(list(ids)))

    def create(self, like: Any, vector: str, dim: int, distance: str) -> None:
        if self._in_the_way():
            raise InputError(f"the folder {self.path} has other things in it; remove them or choose another name.")
        config = like.config()
        vectors = {name: each for name, each in config["vectors"].items() if MARK not in name}
        vectors[vector].update(size=dim, distance=distance)
        if str(vectors[vector].get("datatype")).lower() == "uint8":  # whole numbers cannot hold a bias
            del vectors[vector]["datatype"]
        os.makedirs(self.path, exist_ok=True)
        self.mark(self.name, "collection")
        with replace_file(os.path.join(self.path, _CONFIG)) as temporary:
            temporary.write_text(json.dumps({**config, "vectors": vectors}), encoding="utf-8")
        for field, index in like.shard.info().payload_schema.items():
            if MARK not in field:
                self.shard.update(edge.UpdateOperation.create_field_index(field, index.params or index.data_type))

    def marks(self) -> dict[str, str]:
        # From files beside the shard's own; a folder that is a link is not ours.
        if os.path.islink(self.path) or not os.path.isdir(self.path):
            return {}
        names = [each.removesuffix(_MADE).rpartition(".") for each in os.listdir(self.path) if each.endswith(_MADE)]
        return {name: kind for name, _, kind in names}

    def mark(self, name: str, kind: str | None) -> None:
        for each in ("collection", "payload", "vector"):
            file = Path(self.path, f"{name}.{each}{_MADE}")
            if each == kind:
                file.touch()
            else:
                file.unlink(missing_ok=True)

    def settle(self) -> None:
        self.shard.optimize()
        self.shard.flush()

    def drop(self) -> None:
        if self.exists() or self.marks().get(self.name) == "collection":
            self.opened.shut()
            shutil.rmtree(self.path)

    def _in_the_way(self) -> bool:
        """Whether the folder is a link or holds what is not ours; what a kill left is ours."""
        inside = os.path.isdir(self.path) and bool(os.listdir(self.path))
        return os.path.islink(self.path) or (inside and self.marks().get(self.name) != "collection")

    def aliases(self) -> dict[str, str]:
        return {}

    def set_alias(self, alias: str, collection: str | None) -> None:
        raise NotImplementedError  # abilities say that there are none

    def set_field(self, field: str, ids: Sequence[int | str], values: FloatArray) -> None:
        for own, value in zip(ids, values.tolist(), strict=True):
            self.shard.update(edge.UpdateOperation.set_payload([own], {field: value}))

    def unset_field(self, field: str, ids: Sequence[int | str]) -> None:
        self.shard.update(edge.UpdateOperation.delete_payload_by_filter(_these(ids), [field]))

    def index_field(self, field: str, wanted: bool) -> None:
        pass  # a shard never insists on an index

    def add_vector(self, vector: str, dim: int) -> None:
        self.shard.update(edge.UpdateOperation.create_dense_vector(vector, dim, edge.Distance.Dot))

    def set_vectors(self, vector: str, ids: Sequence[int | str], vectors: FloatArray) -> None:
        rows = [edge.PointVectors(own, {vector: row}) for own, row in zip(ids, vectors.tolist(), strict=True)]
        for start in range(0, len(rows), _ROWS):
            self.shard.update(edge.UpdateOperation.update_vectors(rows[start : start + _ROWS]))

    def unset_vectors(self, vector: str, ids: Sequence[int | str]) -> None:
        self.shard.update(edge.UpdateOperation.delete_vectors_by_filter(_these(ids), [vector]))

    def remove_vector(self, vector: str) -> None:
        self.shard.update(edge.UpdateOperation.delete_vector_name(vector))

    def _load(self) -> Any:
        if not self.exists():
            raise FileNotFoundError(f"there is no shard of Qdrant Edge in the folder {self.path}")
        return edge.EdgeShard.load(self.path)


def _plain(own: Any) -> int | str:
    """An id as the client has it: a UUID is text."""
    return own if isinstance(own, int) else str(own)


def _having(what: Having) -> Any:
    """The filter for points that have a vector or a field; None for all points."""
    if what.vector is not None:
        return edge.Filter(must=[edge.HasVectorCondition(what.vector)])
    return None if what.field is None else edge.Filter(must_not=[edge.IsEmptyCondition(what.field)])


def _these(ids: Sequence[int | str]) -> Any:
    """The filter for these points; a list of ids would be refused if one of them does not exist."""
    return edge.Filter(must=[edge.HasIdCondition(set(ids))])


def _queries(vectors: list[list[float]], request: SearchRequest) -> Any:
    """One request for all vectors."""
    times = request.oversampling
    again = None if times is None else edge.QuantizationSearchParams(rescore=True, oversampling=times)
    params = edge.SearchParams(exact=request.exact, hnsw_ef=request.effort, quantization=again)
    common = {
        "filter": narrowed(request.filter) if isinstance(request.filter, dict) else request.filter,
        "params": params,
    }
    nearest = [edge.Query.Nearest(each, using=request.vector or None) for each in vectors]
    if request.field is None:
        return edge.QueryBatchRequest([edge.QueryRequest(limit=request.k, query=each, **common) for each in nearest])
    score = edge.Expression.Variable("$score")
    if request.squared:
        score = edge.Expression.Mult([edge.Expression.Constant(-0.5), score, score])
    total = edge.Formula(edge.Expression.Sum([score, edge.Expression.Variable(request.field)]), {request.field: 0.0})
    fetched = [edge.Prefetch(limit=request.fetch, query=each, **common) for each in nearest]
    return edge.QueryBatchRequest(
        [edge.QueryRequest(limit=request.k, query=total, prefetches=[each]) for each in fetched]
    )


def narrowed(words: dict[str, Any]) -> Any:
    """The filter for the REST words {"must": [{"key": "group", "match": {"value": 2}}]}."""
    unknown = [name for name in words if name not in _CLAUSES]
    if unknown:
        raise InputError(f"a filter has no {unknown[0]!r} here; use must, should, must_not, or a qdrant_edge.Filter.")
    lists = {name: each if isinstance(each, list) else [each] for name, each in words.items()}
    return edge.Filter(**{name: [_condition(each) for each in some] for name, some in lists.items()})


def _condition(words: dict[str, Any]) -> Any:
    if set(words) == {"key", "match"} and len(words["match"]) == 1:
        ((kind, value),) = words["match"].items()
        if kind in _MATCHES:
            return edge.FieldCondition(words["key"], match=getattr(edge, _MATCHES[kind])(value))
    if set(words) == {"key", "range"}:
        dates = any(isinstance(each, str) for each in words["range"].values())
        kind = edge.RangeDateTime if dates else edge.RangeFloat
        return edge.FieldCondition(words["key"], range=kind(**words["range"]))
    if set(words) == {"has_id"}:
        return edge.HasIdCondition(set(words["has_id"]))
    if set(words) == {"is_empty"}:
        return edge.IsEmptyCondition(words["is_empty"]["key"])
    if set(words) == {"is_null"}:
        return edge.IsNullCondition(words["is_null"]["key"])
    if words and set(words) <= set(_CLAUSES):
        return narrowed(words)
    raise InputError(f"unhub cannot translate the condition {words}; build it with qdrant_edge.Filter.")
