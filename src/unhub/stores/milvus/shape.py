"""The fields and indexes of a Milvus collection, and those of the one that is made like it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.stores.address import Address
from unhub.stores.interface import Metric, Quantiser

METRICS: dict[Metric, str] = {"ip": "IP", "cosine": "COSINE", "l2": "L2"}
DTYPES = {"FLOAT_VECTOR": "float32", "FLOAT16_VECTOR": "float16"}
MARK = "unhub.made"  # property of every collection that unhub makes, with the collection's own name: unhub's mark
EFFORT_OPTIONS = {"ef": 16, "nprobe": 8, "search_list": 16}  # options of an address for every search; Milvus's defaults
AT_LEAST_K = ("ef", "search_list")  # those that Milvus refuses below k
EXACT = ("none", "flat", "brute_force")  # index types that look at every vector
_PROGRESS = ("total_rows", "indexed_rows", "pending_index_rows", "state", "index_state_fail_reason")  # no settings


@dataclass(frozen=True)
class Kind:
    """What an export has to know of an index type."""

    effort: str | None = None  # the search option that makes it look at more
    graph: bool = False
    quantiser: Quantiser | None = None


KINDS = {
    **dict.fromkeys(("ivf_flat", "ivf_flat_cc"), Kind("nprobe")),
    **dict.fromkeys(("ivf_sq8", "ivf_sq8_hybrid", "ivf_pq"), Kind("nprobe", quantiser="codes")),
    "ivf_rabitq": Kind("nprobe", quantiser="rotated"),
    "hnsw": Kind("ef", graph=True),
    **dict.fromkeys(("hnsw_sq", "hnsw_pq", "hnsw_prq"), Kind("ef", graph=True, quantiser="codes")),
    "hnsw_rabitq": Kind("ef", graph=True, quantiser="rotated"),
    "diskann": Kind("search_list"),
    "gpu_ivf_pq": Kind(quantiser="codes"),
}
"""of the index types that have any of it; RaBitQ rotates vectors before it shortens them"""


@dataclass(frozen=True)
class Shape:
    """What a collection is made of, as Milvus says it."""

    described: Mapping[str, Any]  # the fields and the settings
    indexes: tuple[Mapping[str, Any], ...]
    key: str  # the field of the ids
    numbers: bool  # whether the ids are whole numbers; else they are texts
    vector: str  # the field of the vectors
    dim: int
    dtype: str

    @property
    def index(self) -> Mapping[str, Any]:
        """The index of the vectors; empty if there is none, which only Milvus Lite can search."""
        return next((each for each in self.indexes if each["field_name"] == self.vector), {})

    @property
    def index_type(self) -> str:
        """The type of that index: hnsw, flat, none."""
        return str(self.index.get("index_type") or "none").lower()

    @property
    def kind(self) -> Kind:
        """What an export has to know of that type."""
        return KINDS.get(self.index_type, Kind())

    @property
    def exact(self) -> bool:
        """Whether a search looks at every vector."""
        return self.index_type in EXACT

    @property
    def metric(self) -> Metric:
        """What it ranks by; without an index, Milvus Lite takes the cosine."""
        name = str(self.index.get("metric_type") or "COSINE").upper()
        metric = next((ours for ours, theirs in METRICS.items() if theirs == name), None)
        if metric is None:
            known = ", ".join(METRICS.values())
            raise InputError(f"the field {self.vector!r} ranks by {name}; unhub corrects {known}.")
        return metric

    @property
    def computed(self) -> set[str]:
        """Fields that Milvus computes from others; they cannot be written."""
        return {name for each in self.described.get("functions", ()) for name in each["output_field_names"]}

    def own_id(self, outside: str) -> int | str:
        """An id as the store has it."""
        if not self.numbers:
            return outside
        try:
            return int(outside)
        except ValueError:
            raise InputError(
                f"the id {outside!r} is no whole number, but the field {self.key!r} holds those."
            ) from None

    def schema(self, dim: int) -> Any:
        """The same fields for vectors of another dimension; Milvus does not make the ids."""
        fields = [
            {name: value for name, value in each.items() if name != "auto_id"} for each in self.described["fields"]
        ]
        for each in fields:
            if each["name"] == self.vector:
                each["params"] = {**each["params"], "dim": dim}
                each.pop("is_function_output", None)
        functions = [
            each for each in self.described.get("functions", ()) if self.vector not in each["output_field_names"]
        ]
        schemas = require("pymilvus", extra="milvus").CollectionSchema
        return schemas.construct_from_dict(
            {**self.described, "auto_id": False, "fields": fields, "functions": functions}
        )

    def settings(self, name: str) -> dict[str, Any]:
        """Shards, consistency and the other properties for a new collection of this name."""
        wanted = {each: self.described[each] for each in ("consistency_level", "num_shards") if each in self.described}
        wanted["properties"] = {**(self.described.get("properties") or {}), MARK: name}
        if any(each.get("is_partition_key") for each in self.described["fields"]):
            wanted["num_partitions"] = self.described["num_partitions"]
        return wanted

    def index_settings(self, dim: int, metric: Metric) -> list[dict[str, Any]]:
        """The settings of each index, for vectors of another dimension and metric."""
        every = []
        flat = {"field_name": self.vector, "index_name": self.vector, "index_type": "FLAT"}
        for each in self.indexes if self.index else (*self.indexes, flat):
            settings = {name: value for name, value in each.items() if name not in _PROGRESS}
            if each["field_name"] == self.vector:
                settings = {**fitted(settings, self.dim, dim), "metric_type": METRICS[metric]}
            if "params" in settings:  # the client would unpack them, and Milvus Lite then forgets them
                settings["params"] = {"params": settings["params"]}
            every.append(settings)
        return every


def shape_of(address: Address, described: Mapping[str, Any], indexes: Sequence[Mapping[str, Any]]) -> Shape:
    """The shape of a collection; the address may name the field of the vectors."""
    key = next(each for each in described["fields"] if each.get("is_primary"))
    fields = {each["name"]: each for each in described["fields"] if each["type"].name in DTYPES}
    wanted = address.options.get("vector")
    if not fields:
        raise InputError(f"{address}: it has no field of {' or '.join(DTYPES)}; unhub corrects those alone.")
    if wanted not in fields and (wanted is not None or len(fields) > 1):
        problem = "none is chosen" if wanted is None else f"{wanted!r} is not among them"
        raise InputError(f"{address}: it has the vectors {', '.join(fields)}, and {problem}; choose one with vector=.")
    vector = fields[wanted or next(iter(fields))]
    dtype, dim = DTYPES[vector["type"].name], int(vector["params"]["dim"])
    whole = key["type"].name == "INT64"
    return Shape(described, tuple(indexes), key["name"], whole, vector["name"], dim, dtype)


def fitted(settings: Mapping[str, Any], before: int, dim: int) -> dict[str, Any]:
    """The settings of an index, with the sub-quantisers of a product quantiser fitted to another dimension.

    Each must take as many numbers as the others: as many as before, or as close to that as divides the dimension.

    >>> fitted({"m": "16"}, 128, 136), fitted({"params": {"m": 4}}, 24, 32), fitted({"M": 16}, 128, 136)
    ({'m': 17}, {'params': {'m': 4}}, {'M': 16})
    """
    result = dict(settings)
    if isinstance(result.get("params"), Mapping):
        result["params"] = fitted(result["params"], before, dim)
    if "m" in result:
        aim = int(result["m"]) * dim / before
        result["m"] = min((each for each in range(1, dim + 1) if dim % each == 0), key=lambda each: abs(each - aim))
    return result
