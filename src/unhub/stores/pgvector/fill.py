"""Biases on their way into a column: gathered in a small table first, then moved so that rows stay on their pages.

PostgreSQL updates a row by writing it anew. On a full page the new row goes elsewhere, and every index of the table
gets it again: with HNSW that is as slow as inserting it. A row whose page has room stays (a "heap-only" update), and no
index changes. Pages are full, but the old version of a row becomes room as soon as no transaction can see it. So one
row of every page is updated, then the next of every page, each round in a transaction of its own, and only the first
few have to leave their page. That works only while no transaction keeps an old snapshot open, and a scan of the table
is one; hence the small table, which is written during the scan and moved after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.stores.pgvector.session import Session
from unhub.stores.pgvector.table import Table

AT_A_TIME = 65536  # rows whose rounds are planned together
SUFFIX = "_waiting"
MARK = "unhub: biases that wait to be moved into a column"  # the comment on every small table
_COMMENT = """
    SELECT obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s"""
_COSTLY = """
    SELECT m.amname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
    WHERE i.indrelid = %s AND m.amname NOT IN ('btree', 'hash', 'brin') LIMIT 1"""


class Waiting:
    """The small table of ids and biases beside a column; it exists only while something waits."""

    def __init__(self, session: Session, table: Callable[[], Table], column: str) -> None:
        self.session = session
        self.column = column
        self._table = table

    def add(self, ids: Sequence[str], bias: FloatArray) -> None:
        """Gathers biases; of two for one id the later counts."""
        if not self._exists():
            self.session.change(
                self._sql("CREATE TABLE {waiting} (n bigint GENERATED ALWAYS AS IDENTITY, id {type}, bias real)"),
                f"{self._sql('COMMENT ON TABLE {waiting} IS')} {self.session.literal(MARK)}",
            )
        self.session.copy(self._sql("COPY {waiting} (id, bias) FROM STDIN"), zip(ids, bias.tolist(), strict=True))

    def ids(self, block: int) -> Iterator[list[str]]:
        """The ids of rows that have a bias or wait for one."""
        have = "SELECT {id} AS id FROM {table} WHERE {column} IS NOT NULL"
        wait = " UNION SELECT w.id FROM {table} t JOIN {waiting} w ON t.{id} = w.id" if self._exists() else ""
        every = self._sql(f"SELECT id::text FROM ({have}{wait}) AS known ORDER BY known.id")
        with self.session.stream(every) as cursor:
            while rows := cursor.fetchmany(block):
                yield [row[0] for row in rows]

    def remove(self, ids: Sequence[str]) -> None:
        """Removes biases, those in the column and those that wait."""
        if self._exists():
            self.session.rows(self._sql("DELETE FROM {waiting} WHERE id = ANY({ids})"), [list(ids)])
        gone = "UPDATE {table} SET {column} = NULL WHERE {id} = ANY({ids}) AND {column} IS NOT NULL"
        self.session.rows(self._sql(gone), [list(ids)])

    def move(self) -> None:
        """Moves everything that waits into the column, and drops the small table."""
        if not self._exists():
            return
        if self.session.rows(_COSTLY, [self._table().oid]):
            self._in_rounds()
        else:
            self._in_turn()
        self.session.change(*self.removal())

    def _in_rounds(self) -> None:
        """One row of each page at a time, so that few leave their page."""
        due = self._sql(
            "SELECT w.id::text, w.bias, t.tableoid::bigint, (t.ctid::text::point)[0]::bigint FROM {table} t "
            "JOIN (SELECT DISTINCT ON (id) id, bias FROM {waiting} ORDER BY id, n DESC) w ON t.{id} = w.id "
            "WHERE t.{column} IS DISTINCT FROM w.bias ORDER BY t.tableoid, t.ctid"
        )
        update = self._sql("UPDATE {table} t SET {column} = w.bias FROM {pairs} AS w(id, bias) WHERE t.{id} = w.id")
        with self.session.held(due) as cursor:
            while rows := cursor.fetchmany(AT_A_TIME):
                rounds = _rounds(np.array([row[2:] for row in rows], dtype=np.int64))
                for each in np.split(np.argsort(rounds, kind="stable"), np.cumsum(np.bincount(rounds))[:-1]):
                    values = [[rows[row][0] for row in each], [rows[row][1] for row in each]]
                    self.session.together([(update, values)], self._lightly)

    def _in_turn(self) -> None:
        """In the order of writing: with no index that is slow to write, rows may as well leave their page."""
        update = self._sql(
            "UPDATE {table} t SET {column} = w.bias FROM (SELECT DISTINCT ON (id) id, bias FROM {waiting} "
            "WHERE n > %s AND n <= %s ORDER BY id, n DESC) w WHERE t.{id} = w.id AND t.{column} IS DISTINCT FROM w.bias"
        )
        last = self.session.rows(self._sql("SELECT coalesce(max(n), 0) FROM {waiting}"))[0][0]
        for start in range(0, last, AT_A_TIME):
            self.session.together([(update, [start, start + AT_A_TIME])], self._lightly)

    @property
    def _lightly(self) -> dict[str, str]:
        """Without waiting for the disk: the transaction that drops the small table waits for all before it."""
        return {"synchronous_commit": "off", "lock_timeout": f"{round(self.session.timeout)}s"}

    def removal(self) -> list[str]:
        """The statements that drop the small table: one, or none if it does not exist."""
        return [self._sql("DROP TABLE IF EXISTS {waiting}")] if self._exists() else []

    def _exists(self) -> bool:
        """Whether the small table exists; an error if unhub did not make it."""
        comments = self.session.rows(_COMMENT, self._name)
        if comments and comments[0][0] != MARK:
            name = ".".join(self._name)
            raise InputError(f"{self.session.address}: there is a {name} that unhub did not make; rename it.")
        return bool(comments)

    @property
    def _name(self) -> tuple[str, str]:
        return self._table().schema, f"{self.column}{SUFFIX}"

    def _sql(self, text: str) -> str:
        """A statement with the names in it quoted."""
        table, quoted = self._table(), self.session.quoted
        return text.format(
            table=quoted(table.schema, table.name),
            waiting=quoted(*self._name),
            column=quoted(self.column),
            id=quoted(table.id),
            type=table.id_type,
            ids=f"%s::text[]::{table.id_type}[]",
            pairs=f"unnest(%s::text[]::{table.id_type}[], %s::real[])",
        )


def _rounds(places: IntArray) -> IntArray:
    """For rows in the order of their pages, (row, 2) of table and page, which of its page's rows each is.

    >>> _rounds(np.array([[1, 0], [1, 0], [1, 0], [1, 7], [1, 7]])).tolist()
    [0, 1, 2, 0, 1]
    """
    new = np.append(True, (places[1:] != places[:-1]).any(axis=1))
    first = np.maximum.accumulate(np.where(new, np.arange(len(places)), 0))
    rounds: IntArray = np.arange(len(places)) - first
    return rounds
