"""Rows of a LanceDB table: which columns hold vectors and ids, reading in bounded blocks, writing in large commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import LazyModule
from unhub.stores.address import Address
from unhub.stores.interface import Block

arrow = LazyModule("pyarrow", extra="lancedb")
lance_schema = LazyModule("lancedb.schema", extra="lancedb")
DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}  # Arrow's word -> numpy's
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_TEXTS = {"string", "large_string", "string_view"}
_UUIDS = {"extension<arrow.uuid>", "fixed_size_binary[16]"}
_AT_ONCE = 32 << 20  # bytes of vectors read at once: LanceDB's own stream reads ahead, up to a gigabyte
_COMMIT = 32 << 20  # bytes gathered before a write: a commit for each 4096 items takes more than twice as long


@dataclass(frozen=True)
class Columns:
    """The vector column and the id column as Arrow's fields, and the names of the others."""

    url: str  # the table's address, for messages
    vector: Any
    id: Any
    payload: tuple[str, ...]
    blobs: tuple[str, ...]  # columns whose bytes LanceDB reads one by one; they are not copied

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
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
                f"such rows, or remove them with table.delete('`{self.vector.name}` IS NULL')."
            )
        flat = column.flatten().to_numpy(zero_copy_only=False)
        return np.asarray(flat, dtype=np.float32).reshape(len(column), self.dim)

    def own(self, batch: Any) -> list[Any]:
        """The ids of a batch as the store has them: str, int, or a UUID as text."""
        column = batch.column(self.id.name)
        if column.null_count:
            raise StoreError(f"{self.url}: {column.null_count:,} rows have no {self.id.name}; choose with ?id=NAME.")
        if str(self.id.type) not in _UUIDS:
            return list(column.to_pylist())
        return [str(UUID(bytes=each) if isinstance(each, bytes) else each) for each in column.to_pylist()]

    def among(self, ids: Sequence[str]) -> str:
        """The SQL condition that the id is one of these."""
        values = self._values(ids)
        if str(self.id.type) in _UUIDS:
            literals = [f"X'{each.hex()}'" for each in values]
        else:
            literals = [str(each) if isinstance(each, int) else "'" + each.replace("'", "''") + "'" for each in values]
        return f"`{self.id.name}` IN ({', '.join(literals)})"

    def table(self, block: Block) -> Any:
        """The Arrow table that is written for a block."""
        if block.vectors.shape != (len(block), self.dim):
            raise InputError(
                f"{self.url}: vectors have shape {block.vectors.shape}, not ({len(block)}, {self.dim}); make a table "
                f"for vectors of that dimension first."
            )
        flat = np.ascontiguousarray(block.vectors, dtype=self.dtype).reshape(-1)
        vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(flat), type=self.vector.type)
        kind = getattr(self.id.type, "storage_type", None)
        ids = arrow.array(self._values(block.ids), type=kind or self.id.type)
        ids = arrow.ExtensionArray.from_storage(self.id.type, ids) if kind else ids
        table = arrow.Table.from_arrays([ids, vectors], schema=arrow.schema([self.id, self.vector]))
        if block.payload is not None:
            payload = _joined(block.payload)
            for name in (each for each in self.payload if each in payload.column_names):
                table = table.append_column(payload.field(name), payload.column(name))
        return table

    def _values(self, ids: Sequence[str]) -> list[Any]:
        kind = str(self.id.type)
        try:
            if kind in _INTEGERS:
                return [int(each) for each in ids]
            return [UUID(each).bytes for each in ids] if kind in _UUIDS else list(ids)
        except ValueError as error:
            raise InputError(f"{self.url}: an id does not fit the column {self.id.name} of {kind} ({error}).") from None


def columns(schema: Any, address: Address) -> Columns:
    """The columns of a table, as the address names them, or the only possible ones."""
    blob_paths = lance_schema.blob_column_paths(schema)
    blobs = {path.partition(".")[0] for path in blob_paths}
    vectors = [each.name for each in schema if _holds_vectors(each.type)]
    keys = [each.name for each in schema if str(each.type) in _INTEGERS | _TEXTS | _UUIDS]
    vector = _chosen(address, "vector", vectors, vectors, schema)
    key = _chosen(address, "id", ["id"] if "id" in keys else keys, keys, schema)
    payload = tuple(name for name in schema.names if name not in {vector, key} | blobs)
    return Columns(str(address), schema.field(vector), schema.field(key), payload, tuple(sorted(blobs)))


def _joined(payload: Sequence[Any]) -> Any:
    """One Arrow table of the items of a ``Block.payload``: (batch, row) each, mostly many from one batch."""
    if isinstance(payload, Rows):
        return arrow.Table.from_batches([payload.batch])
    runs: list[tuple[Any, list[int]]] = []
    for batch, row in payload:
        if not runs or runs[-1][0] is not batch:
            runs.append((batch, []))
        runs[-1][1].append(row)
    return arrow.concat_tables([arrow.Table.from_batches([batch.take(arrow.array(rows))]) for batch, rows in runs])


def _chosen(address: Address, option: str, likely: list[str], possible: list[str], schema: Any) -> str:
    name = address.options.get(option)
    if name in possible or (name is None and len(likely) == 1):
        return name or likely[0]
    problem = f"{name} holds no {option}s" if name else f"say which column holds the {option}s with ?{option}=NAME"
    listed = ", ".join(f"{each.name} ({each.type})" for each in schema)
    raise InputError(f"{address}: {problem}; the columns are {listed}.")


def _holds_vectors(kind: Any) -> bool:
    return getattr(kind, "list_size", -1) > 0 and str(kind.value_type) in DTYPES


class Rows(Sequence[tuple[Any, int]]):
    """The items of a record batch, each as (batch, row): picking some copies nothing until they are written."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [(self.batch, each) for each in range(*row.indices(len(self)))]
        return self.batch, range(len(self))[row]


def blocks(table: Any, its: Columns, block: int) -> Iterator[Block]:
    """Every row, in the table's order."""
    seen: set[str] = set()
    for batch in batches(table, its, [its.id.name, its.vector.name, *its.payload], block):
        ids = [str(each) for each in its.own(batch)]
        new = set(ids)
        if len(new) < len(ids) or not seen.isdisjoint(new):
            twice = next(each for each, times in Counter(ids).items() if times > 1 or each in seen)
            raise StoreError(f"{its.url}: the id {twice!r} occurs twice; leave one row for each id.")
        seen |= new
        yield Block(ids, its.vectors(batch), Rows(batch.select(list(its.payload))))


def batches(table: Any, its: Columns, names: list[str], block: int) -> Iterator[Any]:
    """Record batches of these columns, each of ``block`` rows except the last."""
    step = max(1, _AT_ONCE // (4 * its.dim * block)) * block
    for start in range(0, table.count_rows(), step):
        rows = table.search().select(names).limit(step).offset(start).to_arrow()
        yield from rows.combine_chunks().to_batches(max_chunksize=block)


class Writer:
    """Gathers items and commits them. A kill loses what was gathered, and nothing else."""

    def __init__(self, table: Any, columns: Columns, known: Iterable[str]) -> None:
        self._table = table
        self._columns = columns
        self._known = set(known)  # ids in the table: LanceDB would append the same item a second time
        self._gathered: list[Any] = []
        self._ids: set[str] = set()

    def upsert(self, block: Block) -> None:
        """Gathers items; commits when there are enough."""
        if not len(block):
            return
        last = {each: row for row, each in enumerate(block.ids)}
        if len(last) < len(block):
            block = block.pick(list(last.values()))
        if not self._ids.isdisjoint(last):
            self.commit()
        self._gathered.append(self._columns.table(block))
        self._ids.update(last)
        if sum(each.nbytes for each in self._gathered) >= _COMMIT:
            self.commit()

    def commit(self) -> None:
        """Writes the gathered items as one new version of the table."""
        if not self._gathered:
            return
        rows = arrow.concat_tables(self._gathered, promote_options="default")
        if self._known.isdisjoint(self._ids):
            self._table.add(rows)
        else:
            merge = self._table.merge_insert(self._columns.id.name)
            merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)
        self._known |= self._ids
        self._gathered, self._ids = [], set()

    def forget(self, ids: Iterable[str]) -> None:
        """Notes that these ids are no longer in the table."""
        self._known.difference_update(ids)
