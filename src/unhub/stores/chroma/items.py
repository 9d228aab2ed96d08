"""Requests to one Chroma collection, through its client's object: items, neighbours, upserts, settings."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import are_unit
from unhub.stores.interface import Block, Description, Metric

DIM = "unhub:dim"
"""key in the metadata of every collection that unhub makes, and of no other: unhub's mark. Chroma itself learns the
dimension from the first item only"""
PAYLOAD = 24 * 2**20  # bytes of vectors in one request; servers refuse more than 40 MiB by default
WRITE_BYTES, QUERY_BYTES = 16 / 3, 24.0  # bytes of a number in a request: base64 when written, text in a query
WIDER = 1.4  # how many times the candidates of the raw graph a corrected search keeps, to miss no more
_SAMPLE = 256  # vectors that are checked for unit length
_PAYLOAD = ["metadatas", "documents", "uris"]  # what ``Block.payload`` has of each item, in this order


def vectors_per_request(dim: int, size: float) -> int:
    """How many vectors go into one request if a number takes this many bytes.

    >>> vectors_per_request(1536, WRITE_BYTES), vectors_per_request(1536, QUERY_BYTES)
    (3072, 682)
    """
    return max(1, int(PAYLOAD / (max(1, dim) * size)))


def dimension(chroma: Any) -> int:
    """The dimension; 0 while Chroma does not know it."""
    return int(chroma.get_model().dimension or (chroma.metadata or {}).get(DIM, 0))


def marked(chroma: Any) -> bool:
    """Whether unhub made it."""
    return type((chroma.metadata or {}).get(DIM)) is int


def graph(chroma: Any) -> tuple[str, dict[str, Any]]:
    """The kind of index and its parameters, the space among them."""
    kind = "spann" if chroma.configuration_json.get("spann") else "hnsw"
    return kind, chroma.configuration_json[kind]


def settings_like(chroma: Any, dim: int, metric: Metric) -> dict[str, Any]:
    """Configuration and metadata of a new collection with the same kind of graph, searched a little more widely.

    A running Chroma takes no new ef_search for a graph that it has opened, so trying larger ones is impossible.
    """
    kind, parameters = graph(chroma)
    if parameters.get("ef_search"):
        parameters = {**parameters, "ef_search": round(WIDER * parameters["ef_search"])}
    # Parameters of the graph in the metadata, the old way, would contradict the new space.
    metadata = {key: value for key, value in (chroma.metadata or {}).items() if not key.startswith("hnsw:")}
    return {"configuration": {kind: {**parameters, "space": metric}}, "metadata": {**metadata, DIM: dim}}


def description(chroma: Any, url: str) -> Description:
    """The description; never exact, since every search walks the graph however few items there are."""
    kind, parameters = graph(chroma)
    unit = are_unit(chroma.get(limit=_SAMPLE, include=["embeddings"])["embeddings"])
    dim, count = dimension(chroma), chroma.count()
    return Description(url, parameters["space"], dim, count, kind, exact=False, unit=unit, graph=kind == "hnsw")


def page(chroma: Any, limit: int, offset: int) -> list[str]:
    """Some ids, in the order in which the items were first written."""
    return list(chroma.get(limit=limit, offset=offset, include=[])["ids"])


def read(chroma: Any, ids: list[str]) -> Block | None:
    """These items, in this order; None if one is missing."""
    answer = chroma.get(ids=ids, include=["embeddings", *_PAYLOAD])
    row = {each: at for at, each in enumerate(answer["ids"])}
    if len(row) != len(ids):
        return None
    order = [row[each] for each in ids]
    vectors = np.asarray(answer["embeddings"], dtype=np.float32)[order]
    return Block(ids, vectors, [tuple(answer[name][at] for name in _PAYLOAD) for at in order])


def where(url: str, filter: Any) -> dict[str, Any]:
    """The client's arguments for a filter: a where, or {"where": ..., "where_document": ...}."""
    if filter is None or filter == {}:
        return {}
    if not isinstance(filter, dict):
        raise InputError(f"{url}: the filter is {type(filter).__name__}; give a where such as {{'group': 2}}.")
    # {"where": "Paris"} means an item's own key.
    named = all(name in ("where", "where_document") and isinstance(filter[name], dict) for name in filter)
    return filter if named else {"where": filter}


def neighbours(
    chroma: Any, queries: FloatArray, k: int, narrowed: dict[str, Any]
) -> list[tuple[list[str], FloatArray]]:
    """The ids and similarities of each query's nearest, which may be fewer than k."""
    answer = chroma.query(query_embeddings=queries, n_results=k, include=["distances"], **narrowed)
    metric = graph(chroma)[1]["space"]
    pairs = zip(answer["ids"], answer["distances"], strict=True)
    return [(ids, similarities(metric, distances)) for ids, distances in pairs]


def similarities(metric: Metric, distances: list[float]) -> FloatArray:
    """Chroma's distances as similarities.

    >>> similarities("l2", [0.5]).tolist(), similarities("ip", [0.25]).tolist()
    ([-0.5], [0.75])
    """
    distance = np.asarray(distances, dtype=np.float64)
    return cast(FloatArray, (-distance if metric == "l2" else 1 - distance).astype(np.float32))


def replace_items(chroma: Any, block: Block, batch: int) -> None:
    """Writes items in batches that the client and the server accept."""
    rows = min(batch, vectors_per_request(block.vectors.shape[1], WRITE_BYTES))
    for start in range(0, len(block), rows):
        _replace(chroma, block.pick(range(start, min(start + rows, len(block)))))


def _replace(chroma: Any, block: Block) -> None:
    columns: dict[str, Any] = {}
    if block.payload is not None:
        _delete_stale(chroma, block)
        for at, name in enumerate(_PAYLOAD):  # Chroma returns {} for an item without metadata, but does not accept it
            columns[name] = [None if item[at] == {} else item[at] for item in block.payload]
        columns = {name: values for name, values in columns.items() if any(each is not None for each in values)}
    try:
        chroma.upsert(ids=block.ids, embeddings=np.asarray(block.vectors, dtype=np.float32), **columns)
    except Exception as error:
        # Documents may be long, and the size of a request is only known once it is built.
        if "too large" not in str(error).casefold() or len(block) == 1:
            raise
        half = len(block) // 2
        _replace(chroma, block.pick(range(half)))
        _replace(chroma, block.pick(range(half, len(block))))


def _delete_stale(chroma: Any, block: Block) -> None:
    """Deletes items with keys that they should no longer have: an upsert only adds keys."""
    stored = chroma.get(ids=block.ids, include=_PAYLOAD)
    wanted = dict(zip(block.ids, block.payload or (), strict=True))
    old = zip(stored["ids"], *(stored[name] for name in _PAYLOAD), strict=True)
    stale = [each for each, *payload in old if not _keys(payload) <= _keys(wanted[each])]
    if stale:
        chroma.delete(ids=stale)


def _keys(payload: Any) -> set[str | int]:
    metadata, *others = payload
    return set(metadata or ()) | {at for at, each in enumerate(others) if each is not None}
