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
AT_LEAST_K = ("ef", "search_list")
"""those that Milvus refuses if they are below k"""


def search(
    client: Any, address: Address, name: str, shape: Shape, queries: FloatArray, k: int, within: str, timeout: float
) -> Found:
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
            output_fields=[shape.key], search_params={"params": search_params(address, k)}, timeout=timeout,
        )  # fmt: skip
        for row, found in enumerate(hits, start):
            ids[row, : len(found.ids)] = found.ids
            scores[row, : len(found.ids)] = sign * np.asarray(found.distances)
    return Found(ids, scores)


def search_params(address: Address, k: int) -> dict[str, int]:
    """What the address gives every search."""
    given = {name: int(address.number(name, 0)) for name in SEARCHED_WITH if name in address.options}
    return {name: max(value, k) if name in AT_LEAST_K else value for name, value in given.items()}
