"""The columns of a LanceDB table: which holds the vectors, which the ids, and how both read and are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.stores.address import Address
from unhub.stores.protocol import Block

DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}
"""Arrow's word for what vectors are stored in -> numpy's"""
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_TEXTS = {"string", "large_string", "string_view"}
_UUIDS = {"extension<arrow.uuid>", "fixed_size_binary[16]"}


@dataclass(frozen=True)
class Columns:
    """The vector column and the id column as Arrow's fields, and the names of the others."""

    url: str
    """the table's address, for what has to be said"""
    vector: Any
    id: Any
    payload: tuple[str, ...]
    blobs: tuple[str, ...]
    """columns whose bytes LanceDB reads one by one: they are not copied"""

    @property
    def dim(self) -> int:
        """Of the vectors."""
        return int(self.vector.type.list_size)

    @property
    def dtype(self) -> str:
        """What the vectors are stored in."""
        return DTYPES[str(self.vector.type.value_type)]

    def vectors(self, batch: Any) -> FloatArray:
        """(item, dim) float32 of a batch."""
        column = batch.column(self.vector.name)
        if column.null_count:
            raise StoreError(
                f"{self.url}: the item {self.own(batch)[column.is_null().index(True).as_py()]!r} has no vector; fill "
                f"such rows, or take them out with table.delete('`{self.vector.name}` IS NULL')."
            )
        flat = column.flatten().to_numpy(zero_copy_only=False)
        return np.asarray(flat, dtype=np.float32).reshape(len(column), self.dim)

    def own(self, batch: Any) -> list[Any]:
        """The ids of a batch as the store has them: str, int, or a UUID as text."""
        column = batch.column(self.id.name)
        if column.null_count:
            raise StoreError(
                f"{self.url}: {column.null_count:,} rows have no {self.id.name}; say another with ?id=NAME."
            )
        if str(self.id.type) not in _UUIDS:
            return list(column.to_pylist())
        return [str(UUID(bytes=each) if isinstance(each, bytes) else each) for each in column.to_pylist()]

    def among(self, ids: Sequence[str]) -> str:
        """SQL for: the id is one of these."""
        values = self._values(ids)
        if str(self.id.type) in _UUIDS:
            words = [f"X'{each.hex()}'" for each in values]
        else:
            words = [str(each) if isinstance(each, int) else "'" + each.replace("'", "''") + "'" for each in values]
        return f"`{self.id.name}` IN ({', '.join(words)})"

    def table(self, block: Block) -> Any:
        """The Arrow table that is written for a block."""
        if block.vectors.shape != (len(block), self.dim):
            raise InputError(
                f"{self.url}: vectors of shape {block.vectors.shape} came where ({len(block)}, {self.dim}) fit; "
                "make a table for vectors of that dimension first."
            )
        arrow = require("pyarrow", extra="lancedb")
        flat = np.ascontiguousarray(block.vectors, dtype=self.dtype).reshape(-1)
        vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(flat), type=self.vector.type)
        kind = getattr(self.id.type, "storage_type", None)
        ids = arrow.array(self._values(block.ids), type=kind or self.id.type)
        ids = arrow.ExtensionArray.from_storage(self.id.type, ids) if kind else ids
        made = arrow.Table.from_arrays([ids, vectors], schema=arrow.schema([self.id, self.vector]))
        if block.payload is None:
            return made
        rest = _joined(block.payload)
        for name in (each for each in self.payload if each in rest.column_names):
            made = made.append_column(rest.field(name), rest.column(name))
        return made

    def _values(self, ids: Sequence[str]) -> list[Any]:
        kind = str(self.id.type)
        try:
            if kind in _INTEGERS:
                return [int(each) for each in ids]
            return [UUID(each).bytes for each in ids] if kind in _UUIDS else list(ids)
        except ValueError as error:
            raise InputError(f"{self.url}: an id does not fit the column {self.id.name} of {kind} ({error}).") from None


def columns(schema: Any, address: Address) -> Columns:
    """The columns of a table, as the address names them, or else the only ones that can be meant."""
    blob_paths = require("lancedb.schema", extra="lancedb").blob_column_paths(schema)
    blobs = {path.partition(".")[0] for path in blob_paths}
    vectors = [each.name for each in schema if _holds_vectors(each.type)]
    keys = [each.name for each in schema if str(each.type) in _INTEGERS | _TEXTS | _UUIDS]
    vector = _chosen(address, "vector", vectors, vectors, schema)
    key = _chosen(address, "id", ["id"] if "id" in keys else keys, keys, schema)
    rest = tuple(name for name in schema.names if name not in {vector, key} | blobs)
    return Columns(str(address), schema.field(vector), schema.field(key), rest, tuple(sorted(blobs)))


def _joined(rest: Sequence[Any]) -> Any:
    """One Arrow table of the items of a ``Block.payload``: (batch, row) each, mostly many from one batch."""
    arrow = require("pyarrow", extra="lancedb")
    whole = getattr(rest, "batch", None)
    if whole is not None:
        return arrow.Table.from_batches([whole])
    runs: list[tuple[Any, list[int]]] = []
    for batch, row in rest:
        if not runs or runs[-1][0] is not batch:
            runs.append((batch, []))
        runs[-1][1].append(row)
    return arrow.concat_tables([arrow.Table.from_batches([batch.take(arrow.array(rows))]) for batch, rows in runs])


def _chosen(address: Address, option: str, likely: list[str], possible: list[str], schema: Any) -> str:
    given = address.options.get(option)
    if given in possible or (given is None and len(likely) == 1):
        return given or likely[0]
    held = {"vector": "vectors", "id": "ids"}[option]
    trouble = f"{given} holds no {held}" if given else f"say which column holds the {held} with ?{option}=NAME"
    listed = ", ".join(f"{each.name} ({each.type})" for each in schema)
    raise InputError(f"{address}: {trouble}; the columns are {listed}.")


def _holds_vectors(kind: Any) -> bool:
    return getattr(kind, "list_size", -1) > 0 and str(kind.value_type) in DTYPES
