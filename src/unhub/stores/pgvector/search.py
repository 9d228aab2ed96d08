"""Searches of a PostgreSQL table: the statement, the filter, the settings, and the hits as arrays.

A statement gives (id, distance) ordered by distance. Every query is a statement of its own in one pipeline: one round
trip for all of them, and the same prepared plan; a LATERAL join over an array of queries was never faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import results_of
from unhub.stores.pgvector.session import AT_ONCE, Session
from unhub.stores.pgvector.table import NUMBERS, Table
from unhub.stores.protocol import SearchResults

LARGEST_EF = 1000  # the most that hnsw.ef_search may be; an iterative scan goes on beyond it


@dataclass(frozen=True, eq=False)
class Ranking:
    """How rows are ranked: a distance in SQL with a placeholder for the query, the queries, and a distance's score."""

    distance: str
    queries: FloatArray
    score: Callable[[float], float]
    effort: float = 1.0
    """how many times as much a search with the index looks at"""


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
    if isinstance(filter, session.sql.Composable):
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
