"""A PostgreSQL table with vectors: its key, column, index and metric from the catalogue; its rows in blocks by id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast, get_args

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.address import Address
from unhub.stores.pgvector.session import Session
from unhub.stores.protocol import Block, Metric

OPERATORS: dict[Metric, str] = {"ip": "<#>", "cosine": "<=>", "l2": "<->"}  # -t.q, 1 - cosine, Euclidean distance
NUMBERS = ("smallint", "integer", "bigint")
_NUMBER = {"vector": ">f4", "halfvec": ">f2"}

_TABLE = """
    SELECT c.oid, c.relkind = 'p' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"""
_COLUMNS = """
    SELECT attname, format_type(atttypid, atttypmod), atttypid::regtype::text, atttypmod
    FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
_KEYS = """
    SELECT a.attname, i.indisprimary FROM pg_index i
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1 AND i.indpred IS NULL"""
_INDEXES = """
    SELECT m.amname, split_part(o.opcname, '_', 2), coalesce(c.reloptions, '{}'), split_part(o.opcname, '_', 1)
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam JOIN pg_opclass o ON o.oid = i.indclass[0]
    WHERE i.indrelid = %s AND i.indisvalid AND i.indpred IS NULL AND m.amname IN ('hnsw', 'ivfflat')
    AND pg_get_indexdef(i.indexrelid, 1, true)
        IN (quote_ident(%s), '(' || quote_ident(%s) || '::halfvec(' || %s::int || '))')
    ORDER BY m.amname, c.relname"""


@dataclass(frozen=True)
class Index:
    """An index over the vectors: hnsw or ivfflat, its options such as m=16, and whether it is over half precision."""

    method: str
    metric: Metric
    options: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class Table:
    """A table whose rows have a key and a vector."""

    schema: str
    name: str
    oid: int
    partitioned: bool
    id: str
    id_type: str
    keyed: bool
    """whether no two rows can have the same id"""
    column: str
    kind: str
    """vector or halfvec"""
    dim: int
    metric: Metric
    index: Index | None

    @property
    def dtype(self) -> str:
        """What the vectors are stored in."""
        return "float16" if self.kind == "halfvec" else "float32"


def find(session: Session, schema: str, name: str) -> tuple[int, bool] | None:
    """The oid of a table and whether it has partitions, or None."""
    rows = session.rows(_TABLE, (schema, name))
    return (rows[0][0], rows[0][1]) if rows else None


def read(session: Session, address: Address, schema: str, name: str) -> Table:
    """The table as it is now; column, id and metric as the address says, or the only possible ones."""
    options = address.options
    table = find(session, schema, name)
    if table is None:
        raise StoreError(f"{address}: there is no table {schema}.{name}; check the name and the schema.")
    columns = {row[0]: row[1:] for row in session.rows(_COLUMNS, table[:1])}
    vectors = [each for each, (_, kind, _) in columns.items() if kind.rpartition(".")[2] in ("vector", "halfvec")]
    column = _chosen(address, "column", vectors, f"vector columns of {schema}.{name}")
    keys = session.rows(_KEYS, table[:1])
    primary = [each for each, is_primary in keys if is_primary]
    id = _chosen(address, "id", primary if "id" not in options else list(columns), f"key columns of {schema}.{name}")
    kind = columns[column][1].rpartition(".")[2]
    dim = columns[column][2] if columns[column][2] > 0 else _width(session, address, schema, name, column)
    index = _index(session, address, table[0], column, dim)
    metric = index.metric if index else cast(Metric, options.get("metric", "cosine"))
    keyed = id in [each for each, _ in keys]
    return Table(schema, name, *table, id, columns[id][0], keyed, column, kind, dim, metric, index)


def _chosen(address: Address, option: str, possible: list[str], called: str) -> str:
    """The column that the address names, or the only one."""
    wanted = address.options.get(option)
    if wanted in possible or (wanted is None and len(possible) == 1):
        return wanted or possible[0]
    listed = ", ".join(possible) or "none"
    came = f"{option} is {wanted!r}, but the" if wanted else "the"
    raise InputError(f"{address}: {came} {called} are: {listed}; name one with ?{option}=.")


def _index(session: Session, address: Address, oid: int, column: str, dim: int) -> Index | None:
    """The index over the column, or over the column in half precision; of several, the one with the wanted metric."""
    wanted = address.options.get("metric")
    if wanted not in (None, *get_args(Metric)):
        raise InputError(f"{address}: metric is {wanted!r}; known are {', '.join(get_args(Metric))}.")
    indexes = [
        Index(method, metric, tuple(options), kind)
        for method, metric, options, kind in session.rows(_INDEXES, (oid, column, column, dim))
        if metric in get_args(Metric)
    ]
    fitting = [each for each in indexes if wanted in (None, each.metric)]
    if len({each.metric for each in fitting}) > 1:
        metrics = ", ".join(sorted({each.metric for each in fitting}))
        raise InputError(f"{address}: there are indexes for {metrics}; choose with ?metric=.")
    return fitting[0] if fitting else None


def _width(session: Session, address: Address, schema: str, name: str, column: str) -> int:
    """The dimension of the first vector, for a column that was declared without one."""
    quoted, of = session.quoted(column), session.quoted(schema, name)
    rows = session.rows(f"SELECT vector_dims({quoted}) FROM {of} WHERE {quoted} IS NOT NULL LIMIT 1")
    if not rows:
        raise InputError(f"{address}: {column} has no dimension and no vectors yet; declare it as vector(768) or so.")
    return int(rows[0][0])


def blocks(
    session: Session, address: Address, table: Table, block: int, *, limit: int | None = None
) -> Iterator[Block]:
    """Every row that has a vector, or the first few, in the order of their ids, from one snapshot."""
    last = None
    for rows in _rows(session, table, block, f"{table.kind}_send({session.quoted(table.column)})", limit):
        ids = [row[0] for row in rows]
        for before, id in pairwise([last, *ids]):
            if id is None or id == before:
                raise StoreError(
                    f"{address}: the column {table.id} has {id!r} twice or not at all; name a key with ?id=."
                )
        last = ids[-1]
        yield Block(ids, _vectors(address, table, [row[1] for row in rows]))


def ids_alone(session: Session, table: Table, block: int) -> Iterator[list[str]]:
    """The ids of every row that has a vector."""
    for rows in _rows(session, table, block, "NULL", None):
        yield [row[0] for row in rows]


def _rows(session: Session, table: Table, block: int, what: str, limit: int | None) -> Iterator[list[Any]]:
    id, column, of = session.quoted(table.id), session.quoted(table.column), session.quoted(table.schema, table.name)
    select = f"SELECT {id}::text, {what} FROM {of} WHERE {column} IS NOT NULL ORDER BY {of}.{id} LIMIT %s"
    with session.stream(select, [limit]) as cursor:
        while rows := cursor.fetchmany(block):
            yield rows


def _vectors(address: Address, table: Table, sent: list[bytes]) -> FloatArray:
    """(row, dim) float32 from the server's binary format of a vector: its length, two unused bytes, its numbers."""
    layout = np.dtype([("length", ">u2"), ("unused", ">u2"), ("numbers", _NUMBER[table.kind], (table.dim,))])
    if any(len(each) != layout.itemsize for each in sent):
        raise StoreError(
            f"{address}: the vectors of {table.column} are not all of {table.dim} numbers; keep those of one model."
        )
    vectors: FloatArray = np.frombuffer(b"".join(sent), dtype=layout)["numbers"].astype(np.float32)
    return vectors
