"""The indexes of a LanceDB table: told from one table, kept in the schema of another, and built there."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.stores.lancedb.columns import Columns
from unhub.stores.protocol import Metric, Quantiser

KEY = b"unhub"
"""where the schema of a table that unhub makes says what it ranks by and which indexes it is to get: it outlives
whoever made the table, and is the mark that it is ours"""
DISTANCES: dict[Metric, str] = {"ip": "dot", "cosine": "cosine", "l2": "l2"}
METRICS: dict[str, Metric] = {"dot": "ip", "cosine": "cosine", "l2": "l2"}
QUANTISERS: dict[str, Quantiser | None] = {"FLAT": None, "PQ": "codes", "SQ": "codes", "RQ": "rotated"}
"""of each kind of index, by its ending; RaBitQ rotates"""
_LONG = timedelta(seconds=7199)
"""the longest that LanceDB lets anybody wait; a table in a folder has its index when `create_index` returns"""
_SMALL_FRAGMENTS = 64
"""how many small files a table may have before they are joined; a copy in one go makes few"""
_FTS = {"min_ngram_length": "ngram_min_length", "max_ngram_length": "ngram_max_length"}
_HINTS = {"lance.ivf.max_iters": "max_iterations", "lance.ivf.sample_rate": "sample_rate"}


@dataclass(frozen=True)
class Wanted:
    """An index that a table is to get: its column, its name, LanceDB's class for it and that class's settings."""

    column: str
    name: str
    kind: str
    settings: dict[str, Any]

    def rows_needed(self) -> int:
        """How many rows it takes to train it: a product quantiser needs one for each of its centroids."""
        return 2 ** int(self.settings.get("num_bits", 8)) if self.kind.endswith("Pq") else 1


@dataclass(frozen=True)
class VectorIndex:
    """The vector index that a table has."""

    name: str
    kind: str
    """such as IVF_PQ"""
    metric: Metric
    used: bool
    """whether any row is in it; LanceDB leaves a quantiser untrained where there are too few"""

    @property
    def graph(self) -> bool:
        """Whether a search walks a graph in each part."""
        return "HNSW" in self.kind.split("_")

    @property
    def quantiser(self) -> Quantiser | None:
        """How its vectors are shortened, by the last word of its kind."""
        return QUANTISERS[self.kind.rpartition("_")[2]]


def vector_index(table: Any, its: Columns) -> VectorIndex | None:
    """The index on the vector column, or None."""
    for each in table.list_indices():
        if list(each.columns) == [its.vector.name]:
            seen = table.index_stats(each.name)
            if seen.distance_type not in METRICS:
                raise InputError(
                    f"{its.url}: {each.name} ranks by {seen.distance_type}; unhub knows {', '.join(METRICS)}."
                )
            return VectorIndex(each.name, seen.index_type, METRICS[seen.distance_type], seen.num_indexed_rows > 0)
    return None


def schema_like(table: Any, its: Columns, dim: int, metric: Metric) -> Any:
    """The schema of a table like this one for other vectors, with a note of the indexes that it is to get."""
    arrow = require("pyarrow", extra="lancedb")
    vector = its.vector.with_type(arrow.list_(its.vector.type.value_field, dim))
    made = [vector if each.name == vector.name else each for each in table.schema if each.name not in its.blobs]
    wanted = [
        _wanted(table, each, its, dim, metric)
        for each in table.list_indices()
        if len(each.columns) == 1 and each.columns[0] in {field.name for field in made}
    ]
    note = json.dumps({"metric": metric, "indexes": [vars(each) for each in wanted]}).encode()
    # An embedding function makes raw vectors, which would not fit the new column.
    kept = {key: value for key, value in (table.schema.metadata or {}).items() if key != b"embedding_functions"}
    return arrow.schema(made, metadata=kept | {KEY: note})


def from_metadata(schema: Any) -> tuple[Metric | None, list[Wanted]]:
    """What a table's schema says that it ranks by and is to get; nothing if unhub did not make it."""
    kept = json.loads((schema.metadata or {}).get(KEY, b"{}"))
    return kept.get("metric"), [Wanted(**each) for each in kept.get("indexes", [])]


def marked(schema: Any) -> bool:
    """Whether unhub has made a table of this schema."""
    return KEY in (schema.metadata or {})


def partitions(table: Any, its: Columns, name: str) -> int | None:
    """How many partitions an index has: LanceDB tells it only in the account of a search, where 1234 reads 1.23 K."""
    distance = table.index_stats(name).distance_type
    asked = table.search([1.0] * its.dim, vector_column_name=its.vector.name).distance_type(distance)
    account = asked.nprobes(1).limit(1).select(["_distance"]).analyze_plan()
    ranked = re.search(r"deltas_searched=(\d+).*partitions_ranked=([\d.]+)( [KM])?", account)
    if ranked is None:
        return None
    return round(float(ranked[2]) * {None: 1, " K": 1e3, " M": 1e6}[ranked[3]] / int(ranked[1]))


def build(table: Any, wanted: list[Wanted]) -> None:
    """Builds what is missing and can be trained, and takes into each index the rows that are not yet in it."""
    rows = table.count_rows()
    there = {each.name for each in table.list_indices()}
    due = [each for each in wanted if each.name not in there and rows >= each.rows_needed()]
    for each in due:
        config = getattr(require("lancedb.index", extra="lancedb"), each.kind)(**each.settings)
        table.create_index(each.column, config=config, name=each.name)
    behind = any(each.num_unindexed_rows for each in table.list_indices())
    if behind or table.stats()["fragment_stats"]["num_small_fragments"] > _SMALL_FRAGMENTS:
        table.optimize()
    if due:
        table.wait_for_index([each.name for each in due], timeout=_LONG)


def _wanted(table: Any, seen: Any, its: Columns, dim: int, metric: Metric) -> Wanted:
    column, details = seen.columns[0], seen.index_details or {}
    if column != its.vector.name:
        return Wanted(column, seen.name, seen.index_type, _plain_settings(seen.index_type, details))
    settings = _vector_settings(details, its.dim, dim)
    settings |= {"distance_type": DISTANCES[metric], "num_partitions": partitions(table, its, seen.name)}
    return Wanted(column, seen.name, seen.index_type, {k: v for k, v in settings.items() if v is not None})


def _vector_settings(details: dict[str, Any], old: int, new: int) -> dict[str, Any]:
    compression, graph, hints = (details.get(name) or {} for name in ("compression", "hnsw", "runtime_hints"))
    settings: dict[str, Any] = {ours: int(hints[theirs]) for theirs, ours in _HINTS.items() if theirs in hints}
    settings |= {"m": graph.get("max_connections"), "ef_construction": graph.get("construction_ef")}
    settings["target_partition_size"] = details.get("target_partition_size")
    if compression.get("type") in ("pq", "rq"):
        settings["num_bits"] = compression.get("num_bits")
    if compression.get("num_sub_vectors"):
        length = old // int(compression["num_sub_vectors"])
        settings["num_sub_vectors"] = new // sub_vector(new, length, even=compression.get("num_bits") == 4)
    return settings


def sub_vector(width: int, length: int, *, even: bool = False) -> int:
    """The length of sub-vectors nearest to an old one, not longer, that divides the width (into an even number).

    >>> sub_vector(136, 8), sub_vector(136, 16), sub_vector(144, 16), sub_vector(136, 8, even=True)
    (8, 8, 16, 4)
    """
    fitting = (each for each in range(min(length, width), 0, -1) if width % (2 * each if even else each) == 0)
    return next(fitting, 1)


def _plain_settings(kind: str, details: dict[str, Any]) -> dict[str, Any]:
    known = {each.name for each in fields(getattr(require("lancedb.index", extra="lancedb"), kind))}
    return {_FTS.get(name, name): value for name, value in details.items() if _FTS.get(name, name) in known}
