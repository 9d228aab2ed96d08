"""Qdrant Edge, the engine inside this process: ``qdrant-edge:///folder/photos`` is the shard in the folder ``photos``.

The shard's settings are read from the file that it keeps of them, because the package has no call that tells them.
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
from unhub.stores.address import Address
from unhub.stores.protocol import Collection
from unhub.stores.qdrant.collection import OPTIONS, QdrantCollection
from unhub.stores.qdrant.edge_requests import edge, queries, these
from unhub.stores.qdrant.edge_requests import having as points_having
from unhub.stores.qdrant.engine import Ask, Having, Opened, Point, bare, by_name, opened_at
from unhub.stores.qdrant.shape import MARK, Shape

_CONFIG = "edge_config.json"
_MADE = ".made-by-unhub"
"""behind the name of what unhub has made, as an empty file in the folder of the shard that it is or is in"""
_HNSW = {"m": 16, "full_scan_threshold": 10_000}
"""what the engine takes where the file says nothing"""
_ROWS = 256
"""points of one update: larger ones are slower"""


def open_collection(address: Address) -> Collection:
    """The shard at an address; nothing is opened yet."""
    address.allow(*OPTIONS)
    folder, name = address.parts
    if not folder.strip("/.") or not name:
        raise InputError(f"{address}: give a folder and a shard in it, such as qdrant-edge:///data/photos.")
    return QdrantCollection(address, EdgeEngine(os.path.abspath(folder), name))


@dataclass(frozen=True)
class EdgeEngine:
    """One shard."""

    folder: str
    name: str
    aliases_exist = False

    @property
    def path(self) -> str:
        """The folder of the shard itself."""
        return os.path.join(self.folder, self.name)

    @cached_property
    def opened(self) -> Opened:
        """The shard as this process has it open, for everybody here."""
        return opened_at(self.path, self._load)

    @property
    def shard(self) -> Any:
        """The shard, opened now if it is not yet."""
        return self.opened.client

    def beside(self, name: str) -> EdgeEngine:
        """The shard of another name in the same folder."""
        return EdgeEngine(self.folder, name)

    def exists(self) -> bool:
        """Whether it is there."""
        return os.path.exists(os.path.join(self.path, _CONFIG))

    def shape(self) -> Shape:
        """How it is set up."""
        indexed = self.shard.info().indexed_vectors_count
        config = self.config()
        hnsw = {**_HNSW, **(config.get("hnsw_config") or {})}
        return Shape(config["vectors"], hnsw, config.get("quantization_config"), indexed)

    def config(self) -> dict[str, Any]:
        """The settings as the shard keeps them."""
        with open(os.path.join(self.path, _CONFIG), encoding="utf-8") as file:
            read: dict[str, Any] = json.load(file)
        return read

    def count(self, having: Having) -> int:
        """The number of points, exactly."""
        return int(self.shard.count(edge().CountRequest(exact=True, filter=points_having(having))))

    def page(self, start: Any, limit: int, having: Having, *, whole: bool) -> tuple[list[Point], Any]:
        """The next points and where to go on."""
        records, following = self.shard.scroll(
            edge().ScrollRequest(
                offset=start, limit=limit, filter=points_having(having), with_payload=whole, with_vector=whole
            )
        )
        return [Point(_plain(each.id), by_name(each.vector), each.payload) for each in records], following

    def ask(self, vectors: list[list[float]], ask: Ask) -> list[list[tuple[int | str, float]]]:
        """The ids and scores of each query."""
        answers = self.shard.query_batch(queries(vectors, ask))
        return [[(_plain(hit.id), hit.score) for hit in answer] for answer in answers]

    def upsert(self, points: Sequence[Point]) -> None:
        """Writes points whole."""
        make = edge()
        for start in range(0, len(points), _ROWS):
            some = points[start : start + _ROWS]
            made = [make.Point(each.id, bare(each.vectors), each.payload) for each in some]
            self.shard.update(make.UpdateOperation.upsert_points(made))

    def delete(self, ids: Sequence[int | str]) -> None:
        """Takes points out."""
        if ids:
            self.shard.update(edge().UpdateOperation.delete_points(list(ids)))

    def create(self, like: Any, vector: str, dim: int, distance: str) -> None:
        """Makes it from the settings of ``like``, except for this vector's size and distance."""
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
                self.shard.update(edge().UpdateOperation.create_field_index(field, index.params or index.data_type))

    def marks(self) -> dict[str, str]:
        """What files beside the shard's own say that unhub has made; a folder that is a link is not ours."""
        if os.path.islink(self.path) or not os.path.isdir(self.path):
            return {}
        names = [each.removesuffix(_MADE).rpartition(".") for each in os.listdir(self.path) if each.endswith(_MADE)]
        return {name: kind for name, _, kind in names}

    def mark(self, name: str, kind: str | None) -> None:
        """Makes such a file, or takes it away."""
        for each in ("collection", "payload", "vector"):
            file = Path(self.path, f"{name}.{each}{_MADE}")
            if each == kind:
                file.touch()
            else:
                file.unlink(missing_ok=True)

    def settle(self) -> None:
        """Builds the index and writes everything to disk."""
        self.shard.optimize()
        self.shard.flush()

    def drop(self) -> None:
        """Removes the shard's folder, or what is in it already of one that unhub began to make."""
        if self.exists() or self.marks().get(self.name) == "collection":
            self.opened.shut()
            shutil.rmtree(self.path)

    def _in_the_way(self) -> bool:
        """Whether the folder is a link or holds what is not ours; what a kill has left is."""
        inside = os.path.isdir(self.path) and bool(os.listdir(self.path))
        return os.path.islink(self.path) or (inside and self.marks().get(self.name) != "collection")

    def aliases(self) -> dict[str, str]:
        """None: a shard has no aliases."""
        return {}

    def set_alias(self, alias: str, collection: str | None) -> None:
        """Refuses, unless there is nothing to do."""
        if collection is not None:
            raise InputError(
                f"Qdrant Edge has no aliases, so {alias} cannot be one; open {collection} by its own name."
            )

    def set_field(self, field: str, ids: Sequence[int | str], values: FloatArray) -> None:
        """Sets a number in the payload of each of these points."""
        for own, value in zip(ids, values.tolist(), strict=True):
            self.shard.update(edge().UpdateOperation.set_payload([own], {field: value}))

    def unset_field(self, field: str, ids: Sequence[int | str]) -> None:
        """Takes the field away where it is."""
        self.shard.update(edge().UpdateOperation.delete_payload_by_filter(these(ids), [field]))

    def index_field(self, field: str, wanted: bool) -> None:
        """Does nothing: a shard never insists on an index."""

    def add_vector(self, vector: str, dim: int) -> None:
        """Adds a named vector that is ranked by inner product."""
        self.shard.update(edge().UpdateOperation.create_dense_vector(vector, dim, edge().Distance.Dot))

    def set_vectors(self, vector: str, ids: Sequence[int | str], vectors: FloatArray) -> None:
        """Sets the named vector of each of these points."""
        make = edge()
        made = [make.PointVectors(own, {vector: row}) for own, row in zip(ids, vectors.tolist(), strict=True)]
        for start in range(0, len(made), _ROWS):
            self.shard.update(make.UpdateOperation.update_vectors(made[start : start + _ROWS]))

    def unset_vectors(self, vector: str, ids: Sequence[int | str]) -> None:
        """Takes the named vector away where it is."""
        self.shard.update(edge().UpdateOperation.delete_vectors_by_filter(these(ids), [vector]))

    def remove_vector(self, vector: str) -> None:
        """Removes a named vector altogether."""
        self.shard.update(edge().UpdateOperation.delete_vector_name(vector))

    def _load(self) -> Any:
        if not self.exists():
            raise FileNotFoundError(f"there is no shard of Qdrant Edge in the folder {self.path}")
        return edge().EdgeShard.load(self.path)


def _plain(own: Any) -> int | str:
    """An id as the client has it: a UUID is text."""
    return own if isinstance(own, int) else str(own)
