"""Indexes of a LanceDB table: read from one table, noted in the schema of another, built there, and searched."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, cast

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import LazyModule, checked_queries
from unhub.stores.address import Address
from unhub.stores.interface import Metric, Quantiser, SearchResults
from unhub.stores.lancedb.rows import Columns, arrow, columns

lance_index = LazyModule("lancedb.index", extra="lancedb")
KEY = b"unhub"  # unhub's mark in the schema of every table that it makes, with its metric and the indexes to build
DISTANCES: dict[Metric, str] = {"ip": "dot", "cosine": "cosine", "l2": "l2"}
METRICS = {theirs: ours for ours, theirs in DISTANCES.items()}
KINDS: dict[str, tuple[bool, Quantiser | None]] = {
    "IVF_FLAT": (False, None),
    "IVF_SQ": (False, "codes"),
    "IVF_PQ": (False, "codes"),
    "IVF_RQ": (False, "rotated"),  # RaBitQ
    "IVF_HNSW_FLAT": (True, None),
    "IVF_HNSW_SQ": (True, "codes"),
    "IVF_HNSW_PQ": (True, "codes"),
}
"""LanceDB's vector indexes -> whether a search walks a graph in each partition, and how vectors are shortened"""
PROBES, WIDTH = 20, 1.5  # LanceDB's default partitions, and candidates of a graph for each result
_QUERIES = 256  # asked at once: LanceDB reads the table once for all of them
_LONG = timedelta(seconds=7199)  # LanceDB's longest wait; a folder has its index when `create_index` returns
_SMALL_FRAGMENTS = 64  # small files before they are joined; a copy in one go makes few
_FTS = {"min_ngram_length": "ngram_min_length", "max_ngram_length": "ngram_max_length"}
_HINTS = {"lance.ivf.max_iters": "max_iterations", "lance.ivf.sample_rate": "sample_rate"}


@dataclass(frozen=True)
class IndexSpec:
    """An index to build: its column, its name, LanceDB's class for it and that class's settings."""

    column: str
    name: str
    kind: str
    settings: dict[str, Any]

    def rows_needed(self) -> int:
        """How many rows its training takes: a product quantiser needs one for each of its centroids."""
        return 2 ** int(self.settings.get("num_bits", 8)) if self.kind.endswith("Pq") else 1


@dataclass(frozen=True)
class VectorIndex:
    """The vector index of a table."""

    kind: str  # such as IVF_PQ
    metric: Metric
    used: bool  # whether any row is in it; LanceDB leaves a quantiser untrained if there are too few
    graph: bool
    quantiser: Quantiser | None


def vector_index(table: Any, its: Columns) -> VectorIndex | None:
    """The index on the vector column, or None."""
    for each in table.list_indices():
        if list(each.columns) == [its.vector.name]:
            stats = table.index_stats(each.name)
            if stats.distance_type not in METRICS:
                known = ", ".join(METRICS)
                raise InputError(f"{its.url}: {each.name} ranks by {stats.distance_type}; unhub knows {known}.")
            graph, quantiser = KINDS.get(stats.index_type, (False, "codes"))
            used = stats.num_indexed_rows > 0
            return VectorIndex(stats.index_type, METRICS[stats.distance_type], used, graph, quantiser)
    return None


@dataclass(frozen=True)
class Facts:
    """What a search has to know of a table."""

    columns: Columns
    metric: Metric
    index: VectorIndex | None


def facts(table: Any, address: Address) -> Facts:
    """The columns, metric and index of a table: by the index, by the address, by unhub's note, or LanceDB's default."""
    its = columns(table.schema, address)
    index = vector_index(table, its)
    metric = cast("Metric | None", address.options.get("metric"))
    if index is not None and metric not in (None, index.metric):
        raise InputError(f"{address}: its index ranks by {index.metric}; leave out metric={metric}.")
    noted, _ = from_metadata(table.schema)
    return Facts(its, index.metric if index else metric or noted or "l2", index)


def schema_like(table: Any, its: Columns, dim: int, metric: Metric) -> Any:
    """The schema of a table like this one for other vectors, with a note of the indexes to build."""
    vector = its.vector.with_type(arrow.list_(its.vector.type.value_field, dim))
    columns = [vector if each.name == vector.name else each for each in table.schema if each.name not in its.blobs]
    specs = [
        _spec(table, each, its, dim, metric)
        for each in table.list_indices()
        if len(each.columns) == 1 and each.columns[0] in {field.name for field in columns}
    ]
    note = json.dumps({"metric": metric, "indexes": [vars(each) for each in specs]}).encode()
    # An embedding function makes raw vectors, which would not fit the new column.
    metadata = {key: value for key, value in (table.schema.metadata or {}).items() if key != b"embedding_functions"}
    return arrow.schema(columns, metadata=metadata | {KEY: note})


def from_metadata(schema: Any) -> tuple[Metric | None, list[IndexSpec]]:
    """The metric and the indexes to build that a table's schema notes; none if unhub did not make it."""
    note = json.loads((schema.metadata or {}).get(KEY, b"{}"))
    return note.get("metric"), [IndexSpec(**each) for each in note.get("indexes", [])]


def partitions(table: Any, its: Columns, name: str) -> int | None:
    """How many partitions an index has: LanceDB tells it only in a search's plan, where 1234 reads 1.23 K."""
    distance = table.index_stats(name).distance_type
    query = table.search([1.0] * its.dim, vector_column_name=its.vector.name).distance_type(distance)
    plan = query.nprobes(1).limit(1).select(["_distance"]).analyze_plan()
    ranked = re.search(r"deltas_searched=(\d+).*partitions_ranked=([\d.]+)( [KM])?", plan)
    if ranked is None:
        return None
    return round(float(ranked[2]) * {None: 1, " K": 1e3, " M": 1e6}[ranked[3]] / int(ranked[1]))


def build(table: Any, specs: list[IndexSpec]) -> None:
    """Builds missing indexes that can be trained, and adds to each index the rows that are not yet in it."""
    rows = table.count_rows()
    built = {each.name for each in table.list_indices()}
    due = [each for each in specs if each.name not in built and rows >= each.rows_needed()]
    for each in due:
        config = getattr(lance_index, each.kind)(**each.settings)
        table.create_index(each.column, config=config, name=each.name)
    behind = any(each.num_unindexed_rows for each in table.list_indices())
    if behind or table.stats()["fragment_stats"]["num_small_fragments"] > _SMALL_FRAGMENTS:
        table.optimize()
    if due:
        table.wait_for_index([each.name for each in due], timeout=_LONG)


def _spec(table: Any, config: Any, its: Columns, dim: int, metric: Metric) -> IndexSpec:
    column, details = config.columns[0], config.index_details or {}
    if column != its.vector.name:
        return IndexSpec(column, config.name, config.index_type, _scalar_settings(config.index_type, details))
    settings = _vector_settings(details, its.dim, dim)
    settings |= {"distance_type": DISTANCES[metric], "num_partitions": partitions(table, its, config.name)}
    return IndexSpec(column, config.name, config.index_type, {k: v for k, v in settings.items() if v is not None})


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
    """The longest sub-vector, up to the old length, that divides the width (into an even number of them).

    >>> sub_vector(136, 8), sub_vector(136, 16), sub_vector(144, 16), sub_vector(136, 8, even=True)
    (8, 8, 16, 4)
    """
    fitting = (each for each in range(min(length, width), 0, -1) if width % (2 * each if even else each) == 0)
    return next(fitting, 1)


def _scalar_settings(kind: str, details: dict[str, Any]) -> dict[str, Any]:
    known = {each.name for each in fields(getattr(lance_index, kind))}
    return {_FTS.get(name, name): value for name, value in details.items() if _FTS.get(name, name) in known}


def best(
    table: Any, known: Facts, address: Address, queries: FloatArray, k: int, where: Any, exact: bool, effort: float
) -> SearchResults:
    """The k most similar rows of each query (query, dim), looking at ``effort`` times as much as the address says."""
    its = known.columns
    vectors = checked_queries(str(address), queries, its.dim)
    ids = np.full((len(vectors), k), None, dtype=object)
    scores = np.full((len(vectors), k), -np.inf, dtype=np.float32)
    seconds = address.number("timeout", 0)
    timeout = timedelta(seconds=seconds) if seconds else None
    for start in range(0, len(vectors), _QUERIES):
        some = vectors[start : start + _QUERIES]
        query = table.search(some, vector_column_name=its.vector.name, query_type="vector")
        query = query.distance_type(DISTANCES[known.metric]).limit(k).select([its.id.name, "_distance"])
        if where is not None:
            query = query.where(where, prefilter=True)
        answer = _tuned(query, address, known.index, k, exact, effort).to_arrow(timeout=timeout)
        rows, ranks, order = _places(answer)
        distances = answer.column("_distance").to_numpy()[order]  # 1 - t.q, 1 - cosine, or the squared distance
        ids[start + rows, ranks] = np.array(its.own(answer), dtype=object)[order]
        scores[start + rows, ranks] = -distances if known.metric == "l2" else 1 - distances
    return SearchResults(ids, scores)


def _tuned(query: Any, address: Address, index: VectorIndex | None, k: int, exact: bool, effort: float) -> Any:
    if exact:
        return query.bypass_vector_index()
    if index is None:
        return query
    # Distances of quantised vectors are far from the true ones; refining the k best makes them true.
    factor = round(effort * int(address.number("refine_factor", 1 if index.quantiser else 0)))
    usual: dict[str, float] = {}
    if effort != 1:
        usual = {"nprobes": PROBES} | ({"ef": WIDTH * k * max(1, factor) / effort} if index.graph else {})
    for option in ("nprobes", "ef"):
        if option in address.options or option in usual:
            query = getattr(query, option)(math.ceil(effort * address.number(option, usual.get(option, 0))))
    return query.refine_factor(factor) if factor else query


def _places(answer: Any) -> tuple[Any, Any, Any]:
    """The query and the rank of each row of an answer, and the order that sorts the rows so."""
    many = "query_index" in answer.column_names
    rows = answer.column("query_index").to_numpy() if many else np.zeros(answer.num_rows, dtype=np.int64)
    order = np.lexsort((answer.column("_distance").to_numpy(), rows))
    rows = rows[order].astype(np.int64)
    return rows, np.arange(len(rows)) - np.searchsorted(rows, rows), order
