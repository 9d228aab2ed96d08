"""Rows of a Milvus collection: filters in its expression language, searches, ordered pages, writes in parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import checked_queries, results_of
from unhub.stores.address import Address
from unhub.stores.milvus.shape import Shape, unpacked, vectors_of
from unhub.stores.protocol import Block, SearchResults

LOOKED_AT = 256
"""vectors that tell whether all have unit length"""
MOST_ROWS = 16_384
"""rows that Milvus gives at once"""
MOST_BYTES = 16 * 2**20
"""bytes of vectors in one message; a server takes 64 MiB in all, unless it is told otherwise"""
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_TOO_LARGE = ("larger than max", "maxoutputsize")
"""how a server says that a message has more bytes than it takes"""
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


def literal(value: Any) -> str:
    """A value as Milvus's expressions have it.

    >>> literal(['a"b', 2, True])
    '["a\\\\"b", 2, true]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, int | float):
        return repr(value)
    if hasattr(value, "tolist"):
        return literal(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return f"[{', '.join(map(literal, value))}]"
    raise InputError(f"{value!r} came as a value of a filter; give texts, numbers, true, false, or lists of them.")


def expression(filter: Any) -> str:
    """The text of a filter: an expression of Milvus, or a pair of one with ``{name}`` in it and the values.

    The values are filled in here, because Milvus Lite and servers before 2.5 cannot do it.

    >>> expression(("color in {colors}", {"colors": ["red", "blue"]}))
    'color in ["red", "blue"]'
    """
    if filter is None:
        return ""
    if isinstance(filter, str):
        return filter
    if not (isinstance(filter, tuple) and len(filter) == 2 and isinstance(filter[1], Mapping)):
        raise InputError(
            f"a filter came as {type(filter).__name__}; give an expression of Milvus such as 'price < 10', "
            "or a pair of one with {name} in it and a dictionary of values."
        )
    text, values = filter
    missing = [each for each in re.findall(r"\{(\w+)\}", text) if each not in values]
    if missing:
        raise InputError(f"the filter {text!r} has no value for {missing[0]!r}; give one in the dictionary.")
    return re.sub(r"\{(\w+)\}", lambda match: literal(values[match[1]]), text)


def too_large(error: BaseException) -> bool:
    """Whether fewer rows at once would have gone through."""
    said = str(error).casefold()
    return any(mark in said for mark in _TOO_LARGE)


def search(
    client: Any, address: Address, name: str, shape: Shape, queries: FloatArray, k: int, within: str, timeout: float,
    params: dict[str, int],
) -> SearchResults:  # fmt: skip
    """The k best of each query within an expression."""
    asked = checked_queries(str(address), queries, shape.dim).astype(shape.dtype, copy=False)
    hits: list[Any] = []
    sign = -1 if shape.metric == "l2" else 1  # Milvus's distance is the square already
    for start in range(0, len(asked), AT_ONCE):
        hits += client.search(
            name, list(asked[start : start + AT_ONCE]), filter=within, limit=k, anns_field=shape.vector,
            output_fields=[shape.key], search_params={"params": params}, timeout=timeout,
        )  # fmt: skip
    return results_of([(each.ids, sign * np.asarray(each.distances)) for each in hits], k)


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
    rest = [{}] * len(block) if block.payload is None else block.payload
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
