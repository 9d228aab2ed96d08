"""Searches of a Milvus collection, with the similarities as unhub has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.address import Address
from unhub.stores.milvus.shape import Shape
from unhub.stores.protocol import Found

AT_ONCE = 1024
"""queries of one request"""
SEARCHED_WITH = ("ef", "nprobe", "search_list")
"""options of an address that go to every search"""
TURNED = {"hnsw": "ef", "ivf": "nprobe", "diskann": "search_list"}
"""the one that an index whose kind begins so has a use for"""
USUAL = {"ef": 16, "nprobe": 8, "search_list": 16}
"""what Milvus takes where a search does not say"""
AT_LEAST_K = ("ef", "search_list")
"""those that Milvus refuses if they are below k"""


def search(
    client: Any, address: Address, name: str, shape: Shape, queries: FloatArray, k: int, within: str, timeout: float,
    params: dict[str, int],
) -> Found:  # fmt: skip
    """The k best of each query within an expression."""
    asked = np.asarray(queries, dtype=shape.dtype)
    if asked.ndim != 2 or asked.shape[1] != shape.dim:
        raise InputError(
            f"{address}: queries of shape {asked.shape} came where (queries, {shape.dim}) are wanted; "
            "use the same model."
        )
    ids = np.full((len(asked), k), None, dtype=object)
    scores = np.full((len(asked), k), -np.inf, dtype=np.float32)
    sign = -1 if shape.metric == "l2" else 1  # Milvus's distance is the square already
    for start in range(0, len(asked), AT_ONCE):
        hits = client.search(
            name, list(asked[start : start + AT_ONCE]), filter=within, limit=k, anns_field=shape.vector,
            output_fields=[shape.key], search_params={"params": params}, timeout=timeout,
        )  # fmt: skip
        for row, found in enumerate(hits, start):
            ids[row, : len(found.ids)] = found.ids
            scores[row, : len(found.ids)] = sign * np.asarray(found.distances)
    return Found(ids, scores)


def search_params(address: Address, kind: str, k: int, effort: float) -> dict[str, int]:
    """What the address gives every search of an index of this kind; with an effort, so many times as much.

    >>> from unhub.stores.address import parse
    >>> given, bare = parse("milvus://localhost/photos?ef=64"), parse("milvus://localhost/photos")
    >>> search_params(given, "hnsw", 10, 1.5), search_params(bare, "ivf_flat", 10, 1.5)
    ({'ef': 96}, {'nprobe': 12})
    """
    given = {name: address.number(name, 0) for name in SEARCHED_WITH if name in address.options}
    turned = turned_by(kind)
    if effort != 1 and turned is not None:
        given[turned] = effort * given.get(turned, max(USUAL[turned], k if turned in AT_LEAST_K else 0))
    return {name: max(round(value), k) if name in AT_LEAST_K else round(value) for name, value in given.items()}


def turned_by(kind: str) -> str | None:
    """The option that has searches of an index of this kind look at more."""
    return next((name for begins, name in TURNED.items() if kind.startswith(begins)), None)
