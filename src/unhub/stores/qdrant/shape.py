"""How a Qdrant collection is set up, in the words of its REST interface, which a shard of Qdrant Edge uses too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unhub.foundation.errors import InputError
from unhub.stores.address import Address
from unhub.stores.protocol import Metric, Quantiser

MARK = "_unhub_"
"""in the name of every collection, vector and field that unhub makes; what has it is no part of the user's data"""
MADE = "unhub:"
"""before the name of what unhub has made, as a key in the metadata of the collection that it is or is in"""
METRICS: dict[str, Metric] = {"Dot": "ip", "Cosine": "cosine", "Euclid": "l2"}
DISTANCES = {metric: distance for distance, metric in METRICS.items()}
_BYTES = {"float32": 4, "float16": 2, "uint8": 1}
_QUANTISED = {"scalar": "int8", "product": "pq"}
_QUANTISERS: dict[str, Quantiser] = {"scalar": "one_range", "product": "codes"}
"""by Qdrant's word; its others (binary, turbo) rotate"""


@dataclass(frozen=True)
class Shape:
    """How a collection is set up and how far its index is built."""

    vectors: Mapping[str, Mapping[str, Any]]
    """name -> size, distance, datatype, hnsw_config, quantization_config"""
    hnsw: Mapping[str, Any]
    quantization: Mapping[str, Any] | None
    indexed: int
    """vectors that an index has, of all names together"""

    def dtype(self, vector: str) -> str:
        """What the vector's numbers are stored in."""
        return str(self.vectors[vector].get("datatype") or "float32").lower()

    def graph(self, vector: str) -> dict[str, Any]:
        """The settings of the graph of a vector."""
        own = {name: each for name, each in (self.vectors[vector].get("hnsw_config") or {}).items() if each is not None}
        return {**self.hnsw, **own}

    def has_graph(self, vector: str) -> bool:
        """Whether a vector gets a graph."""
        hnsw = self.graph(vector)
        return bool(hnsw.get("m") or hnsw.get("payload_m"))

    def quantised(self, vector: str) -> str | None:
        """Qdrant's word for how a vector is quantised, or None."""
        return next(iter(self.vectors[vector].get("quantization_config") or self.quantization or {}), None)

    def quantiser(self, vector: str) -> Quantiser | None:
        """The same as unhub calls it."""
        word = self.quantised(vector)
        return None if word is None else _QUANTISERS.get(word, "rotated")

    def index(self, vector: str, count: int) -> tuple[str, bool]:
        """The kind of index of a vector that so many points have, and whether a search looks at all of them."""
        hnsw, graph, quantised = self.graph(vector), self.has_graph(vector), self.quantised(vector)
        if not self.indexed:
            return "flat", True
        kind = ("hnsw" if graph else "flat") + (f"+{_QUANTISED.get(quantised, quantised)}" if quantised else "")
        # Below this size, in KB of vectors, Qdrant scans even though it has a graph.
        size = count * int(self.vectors[vector]["size"]) * _BYTES.get(self.dtype(vector), 4)
        small = size < 1024 * int(hnsw.get("full_scan_threshold") or 0)
        return kind, not quantised and (small or not graph)


def chosen(address: Address, shape: Shape) -> tuple[str, int, Metric]:
    """The name, dimension and metric of the vector that the address means."""
    names = [name for name in shape.vectors if MARK not in name]
    otherwise = "" if "" in names else names[0] if len(names) == 1 else None
    vector = address.options.get("vector", otherwise)
    if vector is None or vector not in shape.vectors:
        known = ", ".join(sorted(names)) or "none"
        raise InputError(f"{address}: say which vector is meant, with ?vector=<name>; there are {known}.")
    params = shape.vectors[vector]
    metric = METRICS.get(str(params["distance"]))
    if metric is None or params.get("multivector_config"):
        what = "more than one vector for each item" if metric else f"the distance {params['distance']}"
        raise InputError(f"{address} has {what}; unhub can correct Dot, Cosine and Euclid of single vectors.")
    return vector, int(params["size"]), metric


def switch(address: Address, name: str) -> bool | None:
    """A true or false among the options; None if it is not there."""
    text = address.options.get(name)
    if text is None:
        return None
    if text.lower() not in ("true", "false"):
        raise InputError(f"{address}: {name} is {text!r}; give true or false.")
    return text.lower() == "true"
