"""The fields and indexes of a Milvus collection, and those of the one that is made like it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.stores.address import Address
from unhub.stores.protocol import Metric, Quantiser

METRICS: dict[Metric, str] = {"ip": "IP", "cosine": "COSINE", "l2": "L2"}
DTYPES = {"FLOAT_VECTOR": "float32", "FLOAT16_VECTOR": "float16"}
MARK = "unhub.made"
"""the property of every collection that unhub makes, with its own name: the mark that it is ours"""
QUANTISERS: dict[str, Quantiser] = {
    **dict.fromkeys(("ivf_sq8", "ivf_pq", "hnsw_sq", "hnsw_pq", "hnsw_prq", "gpu_ivf_pq", "ivf_sq8_hybrid"), "codes"),
    **dict.fromkeys(("ivf_rabitq", "hnsw_rabitq"), "rotated"),
}
"""of the kinds of index that shorten vectors; RaBitQ rotates them first"""
EXACT = ("none", "flat", "brute_force")
"""kinds of index that look at every vector"""
_PROGRESS = ("total_rows", "indexed_rows", "pending_index_rows", "state", "index_state_fail_reason")
"""what Milvus says of an index that is no setting of it"""


@dataclass(frozen=True)
class Shape:
    """What a collection is made of, as Milvus says it."""

    told: Mapping[str, Any]
    """the fields and the settings"""
    indexes: tuple[Mapping[str, Any], ...]
    key: str
    """the field of the ids"""
    numbers: bool
    """whether the ids are whole numbers; else they are texts"""
    vector: str
    """the field of the vectors"""
    dim: int
    dtype: str

    @property
    def index(self) -> Mapping[str, Any]:
        """The index of the vectors; empty if there is none, which only Milvus Lite can search."""
        return next((each for each in self.indexes if each["field_name"] == self.vector), {})

    @property
    def kind(self) -> str:
        """The kind of that index: hnsw, flat, none."""
        return str(self.index.get("index_type") or "none").lower()

    @property
    def exact(self) -> bool:
        """Whether a search looks at every vector."""
        return self.kind in EXACT

    @property
    def metric(self) -> Metric:
        """What it ranks by; without an index, Milvus Lite takes the cosine."""
        said = str(self.index.get("metric_type") or "COSINE").upper()
        found = next((ours for ours, theirs in METRICS.items() if theirs == said), None)
        if found is None:
            raise InputError(
                f"the field {self.vector!r} ranks by {said}; unhub corrects {', '.join(METRICS.values())}."
            )
        return found

    @property
    def filled_in(self) -> set[str]:
        """Fields that Milvus computes from others, so that they cannot be written."""
        return {name for each in self.told.get("functions", ()) for name in each["output_field_names"]}

    def own_id(self, outside: str) -> int | str:
        """An id as the store has it."""
        if not self.numbers:
            return outside
        try:
            return int(outside)
        except ValueError:
            raise InputError(
                f"the id {outside!r} is no whole number, and the field {self.key!r} holds those."
            ) from None

    def schema(self, dim: int) -> Any:
        """The same fields for vectors of another dimension; the ids are given and not made."""
        fields = [{name: value for name, value in each.items() if name != "auto_id"} for each in self.told["fields"]]
        for each in fields:
            if each["name"] == self.vector:
                each["params"] = {**each["params"], "dim": dim}
                each.pop("is_function_output", None)
        functions = [each for each in self.told.get("functions", ()) if self.vector not in each["output_field_names"]]
        schemas = require("pymilvus", extra="milvus").CollectionSchema
        return schemas.construct_from_dict({**self.told, "auto_id": False, "fields": fields, "functions": functions})

    def settings(self, name: str) -> dict[str, Any]:
        """Shards, consistency and the other properties that a new collection of this name is made with."""
        wanted = {each: self.told[each] for each in ("consistency_level", "num_shards") if each in self.told}
        wanted["properties"] = {**(self.told.get("properties") or {}), MARK: name}
        if any(each.get("is_partition_key") for each in self.told["fields"]):
            wanted["num_partitions"] = self.told["num_partitions"]
        return wanted

    def index_settings(self, dim: int, metric: Metric) -> list[dict[str, Any]]:
        """What each index is made with, for vectors of another dimension and metric."""
        made = []
        flat = {"field_name": self.vector, "index_name": self.vector, "index_type": "FLAT"}
        for each in self.indexes if self.index else (*self.indexes, flat):
            settings = {name: value for name, value in each.items() if name not in _PROGRESS}
            if each["field_name"] == self.vector:
                settings = {**fitted(settings, self.dim, dim), "metric_type": METRICS[metric]}
            if "params" in settings:  # the client would unpack them, and Milvus Lite then forgets them
                settings["params"] = {"params": settings["params"]}
            made.append(settings)
        return made


def read(client: Any, address: Address, name: str, timeout: float) -> Shape:
    """What there is of a collection now; the address may name the field of the vectors."""
    told = client.describe_collection(name, timeout=timeout)
    key = next(each for each in told["fields"] if each.get("is_primary"))
    fields = {each["name"]: each for each in told["fields"] if each["type"].name in DTYPES}
    wanted = address.options.get("vector")
    if not fields:
        raise InputError(f"{address}: it has no field of {' or '.join(DTYPES)}; unhub corrects those alone.")
    if wanted not in fields and (wanted is not None or len(fields) > 1):
        raise InputError(
            f"{address}: it has the vectors {', '.join(fields)}, "
            f"and {'none is chosen' if wanted is None else f'{wanted!r} is not among them'}; choose one with vector=."
        )
    vector = fields[wanted or next(iter(fields))]
    dtype, dim = DTYPES[vector["type"].name], int(vector["params"]["dim"])
    return Shape(
        told,
        tuple(indexes(client, name, timeout)),
        key["name"],
        key["type"].name == "INT64",
        vector["name"],
        dim,
        dtype,
    )


def indexes(client: Any, name: str, timeout: float) -> list[dict[str, Any]]:
    """What Milvus says of each index of a collection."""
    return [client.describe_index(name, each, timeout=timeout) for each in client.list_indexes(name, timeout=timeout)]


def fitted(settings: Mapping[str, Any], before: int, dim: int) -> dict[str, Any]:
    """The settings of an index with the sub-quantisers of a product quantiser fitted to another dimension.

    Each must take as many numbers as the others; as many as before, or else as near to that as divides the dimension.

    >>> fitted({"m": "16"}, 128, 136), fitted({"params": {"m": 4}}, 24, 32), fitted({"M": 16}, 128, 136)
    ({'m': 17}, {'params': {'m': 4}}, {'M': 16})
    """
    made = dict(settings)
    if isinstance(made.get("params"), Mapping):
        made["params"] = fitted(made["params"], before, dim)
    if "m" in made:
        aim = int(made["m"]) * dim / before
        made["m"] = min((each for each in range(1, dim + 1) if dim % each == 0), key=lambda each: abs(each - aim))
    return made


def vectors_of(rows: list[Any], shape: Shape) -> FloatArray:
    """(item, dim) float32 of the rows that a query gave."""
    found = [unpacked(row[shape.vector]) for row in rows]
    if shape.dtype == "float16":
        return (
            np.frombuffer(b"".join(map(bytes, found)), dtype=np.float16)
            .reshape(len(rows), shape.dim)
            .astype(np.float32)
        )
    return np.asarray(found, dtype=np.float32).reshape(len(rows), shape.dim)


def unpacked(value: Any) -> Any:
    """A value of a row as it can be written again: the client gives bytes in a list and takes them without.

    >>> unpacked([b"ab"]), unpacked(["ab"])
    (b'ab', ['ab'])
    """
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], bytes) else value
