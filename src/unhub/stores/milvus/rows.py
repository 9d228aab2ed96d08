"""Rows of a Milvus collection: filters in its expression language, search parameters, blocks, writes in parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.address import Address
from unhub.stores.interface import Block
from unhub.stores.milvus.shape import AT_LEAST_K, EFFORT_OPTIONS, Kind, Shape

MOST_ROWS = 16_384  # that Milvus returns at once
MOST_BYTES = 16 * 2**20  # of vectors in one message; a server takes 64 MiB in all by default
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_TOO_LARGE = ("larger than max", "maxoutputsize")  # how a server says that a message has too many bytes


def literal(value: Any) -> str:
    """A value as a literal of Milvus's expressions.

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
    raise InputError(f"a filter cannot hold the value {value!r}; give texts, numbers, true, false, or lists of them.")


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
            f"a filter cannot be a {type(filter).__name__}; give an expression of Milvus such as 'price < 10', "
            "or a pair of one with {name} in it and a dictionary of values."
        )
    text, values = filter
    missing = [each for each in re.findall(r"\{(\w+)\}", text) if each not in values]
    if missing:
        raise InputError(f"the filter {text!r} has no value for {missing[0]!r}; give one in the dictionary.")
    return re.sub(r"\{(\w+)\}", lambda match: literal(values[match[1]]), text)


def too_large(error: BaseException) -> bool:
    """Whether fewer rows at once would have gone through."""
    return any(mark in str(error).casefold() for mark in _TOO_LARGE)


def unbuilt(indexes: list[dict[str, Any]]) -> bool:
    """Whether any index still has rows to take in."""
    for each in indexes:
        if each.get("state") == "Failed":
            why = each.get("index_state_fail_reason") or "it does not say why"
            raise StoreError(f"Milvus could not build the index {each['index_name']} ({why}); see its logs.")
    return any(each.get("pending_index_rows") for each in indexes)


def search_params(address: Address, kind: Kind, k: int, effort: float) -> dict[str, int]:
    """What the address says for every search of this kind of index, multiplied by the effort.

    >>> from unhub.stores.address import parse
    >>> from unhub.stores.milvus.shape import KINDS
    >>> tuned, bare = parse("milvus://localhost/photos?ef=64"), parse("milvus://localhost/photos")
    >>> search_params(tuned, KINDS["hnsw"], 10, 1.5), search_params(bare, KINDS["ivf_flat"], 10, 1.5)
    ({'ef': 96}, {'nprobe': 12})
    """
    params = {name: address.number(name, 0) for name in EFFORT_OPTIONS if name in address.options}
    if effort != 1 and kind.effort is not None:
        usual = max(EFFORT_OPTIONS[kind.effort], k if kind.effort in AT_LEAST_K else 0)
        params[kind.effort] = effort * params.get(kind.effort, usual)
    return {name: max(round(value), k) if name in AT_LEAST_K else round(value) for name, value in params.items()}


def block_of(rows: list[Any], shape: Shape) -> Block:
    """The rows as items; the payload is what is neither id nor vector nor computed by Milvus."""
    apart = {shape.key, shape.vector, *shape.computed}
    payload = [{name: unpacked(value) for name, value in row.items() if name not in apart} for row in rows]
    return Block([str(row[shape.key]) for row in rows], vectors_of(rows, shape), payload)


def vectors_of(rows: list[Any], shape: Shape) -> FloatArray:
    """(item, dim) float32 of the rows that a query gave."""
    vectors = [unpacked(row[shape.vector]) for row in rows]
    if shape.dtype == "float16":
        flat = np.frombuffer(b"".join(map(bytes, vectors)), dtype=np.float16)
        return flat.reshape(len(rows), shape.dim).astype(np.float32)
    return np.asarray(vectors, dtype=np.float32).reshape(len(rows), shape.dim)


def unpacked(value: Any) -> Any:
    """A value of a row as it can be written again: the client returns bytes in a list and takes them without.

    >>> unpacked([b"ab"]), unpacked(["ab"])
    (b'ab', ['ab'])
    """
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], bytes) else value


def write(send: Callable[[list[dict[str, Any]]], Any], block: Block, shape: Shape) -> None:
    """Sends the items of a block as rows, in parts."""
    vectors = np.asarray(block.vectors, dtype=shape.dtype)
    payload = [{}] * len(block) if block.payload is None else block.payload
    rows = [
        {**fields, shape.key: shape.own_id(each), shape.vector: vector}
        for each, vector, fields in zip(block.ids, vectors, payload, strict=True)
    ]
    step = rows_per_message(shape.dim)
    for start in range(0, len(rows), step):
        _send(send, rows[start : start + step])


def _send(send: Callable[[list[dict[str, Any]]], Any], rows: list[dict[str, Any]]) -> None:
    try:
        send(rows)
    except Exception as error:
        if len(rows) == 1 or not too_large(error):
            raise
        _send(send, rows[: len(rows) // 2])
        _send(send, rows[len(rows) // 2 :])


def rows_per_message(dim: int) -> int:
    """How many rows with vectors fit into one message."""
    return min(MOST_ROWS, max(1, MOST_BYTES // (4 * dim)))
