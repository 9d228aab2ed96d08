"""A PostgreSQL table read from end to end: by id, a block at a time, as it was when the reading began."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from unhub.foundation.errors import StoreError
from unhub.foundation.types import FloatArray
from unhub.stores.address import Address
from unhub.stores.faults import guarded
from unhub.stores.pgvector.session import Session
from unhub.stores.pgvector.table import Table
from unhub.stores.protocol import Block

_NUMBER = {"vector": ">f4", "halfvec": ">f2"}


def blocks(
    session: Session, address: Address, table: Table, block: int, *, limit: int | None = None
) -> Iterator[Block]:
    """Every row that has a vector, or the first few."""
    sent = f"{table.kind}_send({session.quoted(table.column)})"
    last = None
    for rows in _rows(session, address, table, block, sent, limit):
        ids = [row[0] for row in rows]
        for before, id in pairwise([last, *ids]):
            if id is None or id == before:
                raise StoreError(
                    f"{address}: the column {table.id} has {id!r} twice or not at all; name a key with ?id=."
                )
        last = ids[-1]
        yield Block(ids, _vectors(address, table, [row[1] for row in rows]))


def ids_alone(session: Session, address: Address, table: Table, block: int) -> Iterator[list[str]]:
    """The ids of every row that has a vector."""
    for rows in _rows(session, address, table, block, "NULL", None):
        yield [row[0] for row in rows]


def _rows(
    session: Session, address: Address, table: Table, block: int, what: str, limit: int | None
) -> Iterator[list[Any]]:
    id, column, of = session.quoted(table.id), session.quoted(table.column), session.quoted(table.schema, table.name)
    asked = f"SELECT {id}::text, {what} FROM {of} WHERE {column} IS NOT NULL ORDER BY {of}.{id} LIMIT %s"
    with guarded(address, "cannot be read"), session.stream(asked, [limit]) as cursor:
        while rows := cursor.fetchmany(block):
            yield rows


def _vectors(address: Address, table: Table, sent: list[bytes]) -> FloatArray:
    """(row, dim) float32 from what the server sends of a vector: its length, two bytes of nothing, its numbers."""
    form = np.dtype([("length", ">u2"), ("nothing", ">u2"), ("numbers", _NUMBER[table.kind], (table.dim,))])
    if any(len(each) != form.itemsize for each in sent):
        raise StoreError(
            f"{address}: the vectors of {table.column} are not all of {table.dim} numbers; keep those of one model."
        )
    vectors: FloatArray = np.frombuffer(b"".join(sent), dtype=form)["numbers"].astype(np.float32)
    return vectors
