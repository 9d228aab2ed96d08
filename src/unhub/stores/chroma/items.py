"""What is asked of one Chroma collection, in its client's words: pages, items, neighbours, upserts."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import are_unit
from unhub.stores.protocol import Block, Description, Metric

DIM = "unhub:dim"
"""in the metadata of every collection that unhub makes, and of no other: the mark that it is ours. Chroma itself learns
the dimension from the first item only"""
PAYLOAD = 24 * 2**20
"""bytes of vectors in one request; a server refuses one of more than 40 MiB unless it is told otherwise"""
WRITTEN, ASKED = 16 / 3, 24.0
"""bytes of a number in a request: base64 where it is written, text where it is asked for"""
_REST = ["metadatas", "documents", "uris"]
"""what ``Block.payload`` has of each item, in this order"""
_LOOKED_AT = 256
WIDER = 1.4
"""how many times the candidates of the raw graph a search of corrected vectors keeps, to miss no more"""


def fitting(dim: int, size: float) -> int:
    """How many vectors go into one request if a number takes this many bytes.

    >>> fitting(1536, WRITTEN), fitting(1536, ASKED)
    (3072, 682)
    """
    return max(1, int(PAYLOAD / (max(1, dim) * size)))


def dimension(chroma: Any) -> int:
    """Numbers of a vector; 0 if nobody has said so yet."""
    return int(chroma.get_model().dimension or (chroma.metadata or {}).get(DIM, 0))


def marked(chroma: Any) -> bool:
    """Whether unhub has made it."""
    return type((chroma.metadata or {}).get(DIM)) is int


def graph(chroma: Any) -> tuple[str, dict[str, Any]]:
    """The kind of index and its parameters, the space among them."""
    kind = "spann" if chroma.configuration_json.get("spann") else "hnsw"
    return kind, chroma.configuration_json[kind]


def made_like(chroma: Any, dim: int, metric: Metric) -> dict[str, Any]:
    """Configuration and metadata of a new collection with the same kind of graph, searched a little more widely.

    A running Chroma does not take a new ef_search for a graph that it has opened, so that it cannot be found by trial.
    """
    kind, parameters = graph(chroma)
    if parameters.get("ef_search"):
        parameters = {**parameters, "ef_search": round(WIDER * parameters["ef_search"])}
    # Parameters of the graph that were said in the old way, as metadata, would contradict the new space.
    kept = {key: value for key, value in (chroma.metadata or {}).items() if not key.startswith("hnsw:")}
    return {"configuration": {kind: {**parameters, "space": metric}}, "metadata": {**kept, DIM: dim}}


def description(chroma: Any, url: str) -> Description:
    """What the collection is; never exact, since every search goes along the graph however few items there are."""
    kind, parameters = graph(chroma)
    seen = chroma.get(limit=_LOOKED_AT, include=["embeddings"])["embeddings"]
    return Description(
        url=url,
        metric=parameters["space"],
        dim=dimension(chroma),
        count=chroma.count(),
        index=kind,
        exact=False,
        unit=are_unit(seen),
        graph=kind == "hnsw",
    )


def page(chroma: Any, limit: int, offset: int) -> list[str]:
    """Some ids, in the order in which the items were first written."""
    return list(chroma.get(limit=limit, offset=offset, include=[])["ids"])


def read(chroma: Any, ids: list[str]) -> Block | None:
    """These items, in this order; None if one of them is not there."""
    answer = chroma.get(ids=ids, include=["embeddings", *_REST])
    row = {each: at for at, each in enumerate(answer["ids"])}
    if len(row) != len(ids):
        return None
    order = [row[each] for each in ids]
    vectors = np.asarray(answer["embeddings"], dtype=np.float32)[order]
    return Block(ids, vectors, [tuple(answer[name][at] for name in _REST) for at in order])


def delete(chroma: Any, ids: list[str]) -> None:
    """Takes items out."""
    chroma.delete(ids=ids)


def narrowing(url: str, filter: Any) -> dict[str, Any]:
    """A filter as the client takes it."""
    if filter is None or filter == {}:
        return {}
    if not isinstance(filter, dict):
        raise InputError(f"{url}: the filter is {type(filter).__name__}; give a where such as {{'group': 2}}.")
    # {"where": "Paris"} is of an item's own key.
    named = all(name in ("where", "where_document") and isinstance(filter[name], dict) for name in filter)
    return filter if named else {"where": filter}


def neighbours(
    chroma: Any, queries: FloatArray, k: int, narrowed: dict[str, Any]
) -> tuple[Metric, list[list[str]], list[list[float]]]:
    """What Chroma ranks by, and the ids and distances of each query's nearest, which may be fewer than k."""
    answer = chroma.query(query_embeddings=queries, n_results=k, include=["distances"], **narrowed)
    return graph(chroma)[1]["space"], answer["ids"], answer["distances"]


def similarities(metric: Metric, distances: list[float]) -> FloatArray:
    """Chroma's distances as similarities.

    >>> similarities("l2", [0.5]).tolist(), similarities("ip", [0.25]).tolist()
    ([-0.5], [0.75])
    """
    far = np.asarray(distances, dtype=np.float64)
    return cast(FloatArray, (-far if metric == "l2" else 1 - far).astype(np.float32))


def replace_items(chroma: Any, block: Block, batch: int) -> None:
    """Writes items in batches that the client and the server take."""
    rows = min(batch, fitting(block.vectors.shape[1], WRITTEN))
    for start in range(0, len(block), rows):
        _replace(chroma, block.pick(range(start, min(start + rows, len(block)))))


def _replace(chroma: Any, block: Block) -> None:
    columns: dict[str, Any] = {}
    if block.payload is not None:
        _forget_stale(chroma, block)
        # Chroma gives an item without metadata {}, if it has a document, but does not take it back.
        columns = {
            name: [None if item[at] == {} else item[at] for item in block.payload] for at, name in enumerate(_REST)
        }
        columns = {name: values for name, values in columns.items() if any(each is not None for each in values)}
    try:
        chroma.upsert(ids=block.ids, embeddings=np.asarray(block.vectors, dtype=np.float32), **columns)
    except Exception as error:
        # Long documents: how long a request becomes is known only when it is there.
        if "too large" not in str(error).casefold() or len(block) == 1:
            raise
        half = len(block) // 2
        _replace(chroma, block.pick(range(half)))
        _replace(chroma, block.pick(range(half, len(block))))


def _forget_stale(chroma: Any, block: Block) -> None:
    """Takes out items that have more than they shall have: an upsert adds to what is there and takes nothing away."""
    there = chroma.get(ids=block.ids, include=_REST)
    wanted = dict(zip(block.ids, block.payload or (), strict=True))
    old = zip(there["ids"], there["metadatas"], there["documents"], there["uris"], strict=True)
    stale = [each for each, *rest in old if not _keys(tuple(rest)) <= _keys(wanted[each])]
    if stale:
        chroma.delete(ids=stale)


def _keys(rest: Any) -> set[str | int]:
    metadata, *others = rest
    return set(metadata or ()) | {at for at, each in enumerate(others) if each is not None}
