"""A PostgreSQL table with vectors: what the catalogue says of it, its rows in blocks by id, and its searches.

A search's statement gives (id, distance) ordered by distance. Every query is a statement of its own in one pipeline:
one round trip for all of them, and the same prepared plan; a LATERAL join over an array of queries was never faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast, get_args

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import results_of
from unhub.stores.address import Address
from unhub.stores.interface import Block, Metric, SearchResults
from unhub.stores.pgvector.session import AT_ONCE, Session, sql

OPERATORS: dict[Metric, str] = {"ip": "<#>", "cosine": "<=>", "l2": "<->"}  # -t.q, 1 - cosine, Euclidean distance
LARGEST_EF = 1000  # the most that hnsw.ef_search may be; an iterative scan goes on beyond it
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
    keyed: bool  # whether no two rows can have the same id
    column: str
    kind: str  # vector or halfvec
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


@dataclass(frozen=True, eq=False)
class Ranking:
    """How rows are ranked: a distance in SQL with a placeholder for the query, the queries, and a distance's score."""

    distance: str
    queries: FloatArray
    score: Callable[[float], float]
    effort: float = 1.0  # how many times as much a search with the index looks at


def condition(session: Session, filter: Any) -> tuple[str, list[Any]]:
    """A filter as SQL, and the values to bind.

    A filter is {"brand": "x", "size": [1, 2], "sold": None}, ("price < %s AND brand = %s", [10, "x"]), or something
    made with psycopg.sql.
    """
    if filter is None:
        return "TRUE", []
    if isinstance(filter, Mapping):
        parts = [_equal(session.quoted(name), value) for name, value in filter.items()]
        return " AND ".join(["TRUE", *(text for text, _ in parts)]), [each for _, values in parts for each in values]
    if isinstance(filter, sql.Composable):
        return f"({filter.as_string(None)})", []
    if isinstance(filter, tuple) and len(filter) == 2 and isinstance(filter[0], str):
        return f"({filter[0]})", list(filter[1])
    raise InputError(
        f"a filter for PostgreSQL cannot be a {type(filter).__name__}; give a dict of columns and values, "
        "a pair such as ('price < %s', [10]), or something made with psycopg.sql."
    )


def _equal(column: str, value: Any) -> tuple[str, list[Any]]:
    """Whether a column has a value or one of several; NULL is a value like others."""
    wanted = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    bound = [each for each in wanted if each is not None]
    either = [f"{column} IN ({', '.join(['%s'] * len(bound))})"] if bound else []
    either += [f"{column} IS NULL"] if len(bound) < len(wanted) else []
    return f"({' OR '.join(either) or 'FALSE'})", bound


def statement(session: Session, table: Table, distance: str, where: str, k: int, *, exact: bool) -> str:
    """SELECT of the k smallest distances; an exact one sorts by an expression that no index has, then by id.

    Ids that are numbers come as they are, all others as text.
    """
    id = session.quoted(table.id)
    returned = id if table.id_type in NUMBERS else f"{id}::text"
    of = session.quoted(table.schema, table.name)
    what, order = (f"({distance}) + 0.0", f"2, {of}.{id}") if exact else (distance, "2")
    return (
        f"SELECT {returned}, {what} FROM {of} "
        f"WHERE {session.quoted(table.column)} IS NOT NULL AND {where} ORDER BY {order} LIMIT {int(k)}"
    )


def limits(session: Session) -> dict[str, str]:
    """The settings of every search."""
    return {"statement_timeout": str(round(1000 * session.timeout)), "transaction_read_only": "on"}


def settings(session: Session, table: Table, k: int, effort: float) -> dict[str, str]:
    """The settings of a search with the index, which then goes on until k rows have passed the filter."""
    chosen = limits(session)
    if table.index is None:
        return chosen
    if table.index.method == "ivfflat":
        probes = math.ceil(effort * session.address.number("probes", 1 if effort > 1 else 0))
        chosen |= {"ivfflat.iterative_scan": "relaxed_order"}
        return chosen | {"ivfflat.probes": str(probes)} if probes else chosen
    width = min(LARGEST_EF, max(k, round(effort * session.ef_search)))
    return chosen | {"hnsw.iterative_scan": "strict_order", "hnsw.ef_search": str(width)}


def search(
    session: Session,
    table: Table,
    where: tuple[str, list[Any]],
    k: int,
    plain: Ranking,
    by_index: Ranking | None = None,
) -> SearchResults:
    """The k best of every query, by the index if there is one and otherwise by looking at every row.

    A query for which the index finds fewer than k runs again the plain way: with a narrow filter an index stops before
    it has seen every row that passes.
    """
    count = len(plain.queries)
    hits: list[list[tuple[Any, float]]] = [[]] * count
    if by_index is not None:
        select = statement(session, table, by_index.distance, where[0], k, exact=False)
        hits = _run(session, select, by_index, range(count), where[1], settings(session, table, k, by_index.effort))
    short = [row for row in range(count) if len(hits[row]) < k]
    if short:
        select = statement(session, table, plain.distance, where[0], k, exact=True)
        for row, pairs in zip(short, _run(session, select, plain, short, where[1], limits(session)), strict=True):
            hits[row] = pairs
    return results_of([([id for id, _ in pairs], [score for _, score in pairs]) for pairs in hits], k)


def _run(
    session: Session, select: str, ranking: Ranking, rows: Sequence[int], values: list[Any], chosen: Mapping[str, str]
) -> list[list[tuple[Any, float]]]:
    """The (id, score) pairs of each of these queries, best first; a distance of NaN (cosine to a zero) is no hit."""
    every: list[list[tuple[Any, float]]] = []
    for start in range(0, len(rows), AT_ONCE):
        statements = [(select, [ranking.queries[row], *values]) for row in rows[start : start + AT_ONCE]]
        for pairs in session.together(statements, chosen):
            hits = [(id, ranking.score(distance)) for id, distance in pairs if distance == distance]
            every.append(sorted(hits, key=lambda hit: -hit[1]))
    return every
