"""Rows of a Milvus collection: read page by page in the order of their ids, written in parts that a server takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from unhub.foundation.errors import StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.milvus.shape import Shape, unpacked, vectors_of
from unhub.stores.milvus.words import literal, too_large
from unhub.stores.protocol import Block

LOOKED_AT = 256
"""vectors that tell whether all have unit length"""
MOST_ROWS = 16_384
"""rows that Milvus gives at once"""
MOST_BYTES = 16 * 2**20
"""bytes of vectors in one message; a server takes 64 MiB in all, unless it is told otherwise"""


def pages(client: Any, name: str, shape: Shape, fields: list[str], most: int, timeout: float) -> Iterator[list[Any]]:
    """The rows by rising id, at most so many at once. It asks for those behind the last id, so none comes twice."""
    rows = min(most, MOST_ROWS) if fields == [shape.key] else min(most, MOST_ROWS, _rows_at_once(shape.dim))
    last: Any = None
    while True:
        try:
            found = page(client, name, shape, fields, rows, timeout, behind=last)
        except Exception as error:
            if rows == 1 or not too_large(error):
                raise
            rows //= 2
            continue
        if not found:
            return
        for row in found:
            if last is not None and not row[shape.key] > last:
                raise StoreError(
                    f"{name} gives its ids out of order: {row[shape.key]!r} came after {last!r}; read it again."
                )
            last = row[shape.key]
        yield found


def page(
    client: Any, name: str, shape: Shape, fields: list[str], rows: int, timeout: float, *, behind: Any = None
) -> list[Any]:
    """The first rows whose id is above another.

    Only a query that says it is of an iterator is sorted by id. The client's own iterator is of no use: it cannot step
    over a text id that has a quotation mark in it.
    """
    found = client.query(
        name, filter="" if behind is None else f"{shape.key} > {literal(behind)}", output_fields=fields, limit=rows,
        iterator="True", reduce_stop_for_best="True", strict_float32=True, timeout=timeout,
    )  # fmt: skip
    return list(found)


def first_vectors(client: Any, name: str, shape: Shape, timeout: float) -> FloatArray:
    """(item, dim): a few vectors."""
    return vectors_of(page(client, name, shape, [shape.vector], LOOKED_AT, timeout), shape)


def block_of(rows: list[Any], shape: Shape) -> Block:
    """The rows as items, with what is neither id nor vector nor computed by Milvus as the rest."""
    apart = {shape.key, shape.vector, *shape.filled_in}
    rest = [{name: unpacked(value) for name, value in row.items() if name not in apart} for row in rows]
    return Block([str(row[shape.key]) for row in rows], vectors_of(rows, shape), rest)


def write(send: Callable[[list[dict[str, Any]]], Any], block: Block, shape: Shape) -> None:
    """Sends the items of a block as rows, in parts."""
    vectors = np.asarray(block.vectors, dtype=shape.dtype)
    rest = [{}] * len(block) if block.rest is None else block.rest
    rows = [
        {**more, shape.key: shape.own_id(each), shape.vector: vector}
        for each, vector, more in zip(block.ids, vectors, rest, strict=True)
    ]
    at_once = _rows_at_once(shape.dim)
    for start in range(0, len(rows), at_once):
        _send(send, rows[start : start + at_once])


def _send(send: Callable[[list[dict[str, Any]]], Any], rows: list[dict[str, Any]]) -> None:
    try:
        send(rows)
    except Exception as error:
        if len(rows) == 1 or not too_large(error):
            raise
        _send(send, rows[: len(rows) // 2])
        _send(send, rows[len(rows) // 2 :])


def _rows_at_once(dim: int) -> int:
    return max(1, MOST_BYTES // (4 * dim))
