"""Searches of a LanceDB table, its distances as similarities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import checked_queries
from unhub.stores.address import Address
from unhub.stores.lancedb.columns import Columns, columns
from unhub.stores.lancedb.index import DISTANCES, VectorIndex, from_metadata, vector_index
from unhub.stores.protocol import Metric, SearchResults

PROBES, WIDTH = 20, 1.5
"""parts that LanceDB looks into, and how wide it walks a graph for each result, where a search does not say"""
_TOGETHER = 256
"""queries that are asked for at once: LanceDB reads the table once for all of them"""


@dataclass(frozen=True)
class Facts:
    """What a search has to know of a table."""

    columns: Columns
    metric: Metric
    built: VectorIndex | None


def facts(table: Any, address: Address) -> Facts:
    """The columns, metric and index of a table: by the index, by the address, by unhub's note, or LanceDB's default."""
    its = columns(table.schema, address)
    built = vector_index(table, its)
    given = cast("Metric | None", address.options.get("metric"))
    if built is not None and given not in (None, built.metric):
        raise InputError(f"{address}: its index ranks by {built.metric}; leave metric={given} out.")
    noted, _ = from_metadata(table.schema)
    return Facts(its, built.metric if built else given or noted or "l2", built)


def best(
    table: Any, known: Facts, address: Address, queries: FloatArray, k: int, where: Any, exact: bool, effort: float
) -> SearchResults:
    """The k most similar rows of each query (query, dim), looking at ``effort`` times as much as the address says."""
    its = known.columns
    asked = checked_queries(str(address), queries, its.dim)
    ids = np.full((len(asked), k), None, dtype=object)
    scores = np.full((len(asked), k), -np.inf, dtype=np.float32)
    seconds = address.number("timeout", 0)
    timeout = timedelta(seconds=seconds) if seconds else None
    for start in range(0, len(asked), _TOGETHER):
        some = asked[start : start + _TOGETHER]
        query = table.search(some, vector_column_name=its.vector.name, query_type="vector")
        query = query.distance_type(DISTANCES[known.metric]).limit(k).select([its.id.name, "_distance"])
        if where is not None:
            query = query.where(where, prefilter=True)
        got = _tuned(query, address, known.built, k, exact, effort).to_arrow(timeout=timeout)
        rows, ranks, order = _places(got)
        ids[start + rows, ranks] = np.array(its.own(got), dtype=object)[order]
        scores[start + rows, ranks] = _similarities(got.column("_distance").to_numpy()[order], known.metric)
    return SearchResults(ids, scores)


def _tuned(query: Any, address: Address, built: VectorIndex | None, k: int, exact: bool, effort: float) -> Any:
    if exact:
        return query.bypass_vector_index()
    if built is None:
        return query
    # Distances of quantised vectors are far from the true ones; one more look at the k best makes them true.
    factor = round(effort * int(address.number("refine_factor", 1 if built.quantiser else 0)))
    usual: dict[str, float] = {}
    if effort != 1:
        usual = {"nprobes": PROBES} | ({"ef": WIDTH * k * max(1, factor) / effort} if built.graph else {})
    for option in ("nprobes", "ef"):
        if option in address.options or option in usual:
            query = getattr(query, option)(math.ceil(effort * address.number(option, usual.get(option, 0))))
    return query.refine_factor(factor) if factor else query


def _places(got: Any) -> tuple[Any, Any, Any]:
    """The query and the rank of each row of an answer, and the order in which they come so."""
    many = "query_index" in got.column_names
    rows = got.column("query_index").to_numpy() if many else np.zeros(got.num_rows, dtype=np.int64)
    order = np.lexsort((got.column("_distance").to_numpy(), rows))
    rows = rows[order].astype(np.int64)
    return rows, np.arange(len(rows)) - np.searchsorted(rows, rows), order


def _similarities(distances: Any, metric: Metric) -> FloatArray:
    """LanceDB's distances are 1 - t.q, 1 - cosine, and the squared Euclidean distance."""
    similar: FloatArray = -distances if metric == "l2" else 1 - distances
    return similar
