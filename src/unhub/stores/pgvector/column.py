"""A bias in a column of the table itself, and an index over vector and bias together where the table has an index.

column      every search looks at every row: ORDER BY distance - bias.
expression  with an index over vector and bias, which PostgreSQL keeps up to date by itself (pgvector_expression).

No row is copied. Rows without a bias count as bias 0. What is written waits in a small table until ``finish``
(pgvector_fill says why).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import checked_queries, guarded
from unhub.stores.address import Address
from unhub.stores.pgvector.expression import Expression
from unhub.stores.pgvector.fill import Waiting
from unhub.stores.pgvector.search import Way, condition, search
from unhub.stores.pgvector.session import Session
from unhub.stores.pgvector.table import Table
from unhub.stores.protocol import BLOCK, Block, SearchResults
from unhub.stores.vector_encoding import VectorEncoding

_MARK = "unhub: bias to add to the similarity of "
"""how the comment on every column begins that unhub has made: the mark that it is ours"""
_COMMENT = """
    SELECT col_description(a.attrelid, a.attnum) FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s AND a.attname = %s AND NOT a.attisdropped"""


class BiasColumn:
    """One column of one table, filled with biases, and the searches that use it."""

    keeps_effort = False

    def __init__(
        self, session: Session, address: Address, table: Callable[[], Table], name: str, encoding: VectorEncoding
    ) -> None:
        self.session = session
        self.address = address
        self.name = name
        self.encoding = encoding
        self._table = table
        self._waiting = Waiting(session, table, name)
        self._effort = 1.0

    def exists(self) -> bool:
        """Whether the column is there."""
        with guarded(self.address, "cannot be reached"):
            return bool(self._comments())

    def made_by_unhub(self) -> bool:
        """Whether the comment on the column says so."""
        with guarded(self.address, "cannot be reached"):
            return any((comment or "").startswith(_MARK) for comment in self._comments())

    def create(self) -> None:
        """Adds the column, with a comment that says whose it is."""
        with guarded(self.address, "cannot be given a column"):
            table = self._table()
            self._expression(table)
            if not table.keyed:
                raise InputError(
                    f"{self.address}: the column {table.id} is no key; make it unique or name another with ?id=."
                )
            if self._ours():
                return
            note = f"{_MARK}{table.column}; dropping this column undoes the correction"
            self.session.change(
                *self._waiting.away(),
                f"ALTER TABLE {self._of} ADD COLUMN {self._quoted} real",
                f"COMMENT ON COLUMN {self._of}.{self._quoted} IS {self.session.literal(note)}",
            )

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids of the rows that have a bias or wait for one."""
        with guarded(self.address, "cannot be read"):
            yield from self._waiting.ids(block)

    def write(self, block: Block, bias: FloatArray) -> None:
        """Puts biases down for ``finish``; the vectors are in the table already."""
        with guarded(self.address, "cannot be written"):
            self._waiting.add(block.ids, np.asarray(bias, dtype=np.float32))

    def delete(self, ids: Sequence[str]) -> None:
        """Takes the bias away from rows; they stay in the table, as rows without one."""
        with guarded(self.address, "cannot be changed"):
            self._waiting.take(ids)

    def finish(self) -> None:
        """Moves the biases into the column and builds the index."""
        with guarded(self.address, "cannot be finished"):
            expression = self._expression(self._table())
            if expression is None or expression.built():
                self._waiting.move()
                return
            expression.clear()
            self._waiting.move()
            expression.build()

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by score + bias."""
        with guarded(self.address, "cannot be searched"):
            table = self._table()
            asked = checked_queries(str(self.address), queries, table.dim)
            where = condition(self.session, filter)
            unit = self._unit
            vector = self.session.quoted(table.column)
            distance = f"({vector} {'<=>' if unit else '<#>'} %b::{table.kind}) - COALESCE({self._quoted}, 0)"
            plain = Way(distance, asked, lambda distance: float(unit) - distance)
            expression = None if exact else self._expression(table)
            if expression is None:
                return search(self.session, table, where, k, plain)
            middle = expression.middle
            by_index = Way(
                expression.distance, expression.queries(asked), lambda distance: middle - distance, self._effort
            )
            return search(self.session, table, where, k, plain, by_index)

    def raise_effort(self, factor: float) -> bool:
        """Has searches with the index look at more: a larger ef_search, or more probes."""
        if self.encoding.strategy != "expression":
            return False
        self._effort *= factor
        return True

    def close(self) -> None:
        """Nothing of its own to let go of."""

    def drop(self) -> None:
        """Removes the column, its index and whatever still waits; the table is as it was."""
        with guarded(self.address, f"cannot give up the column {self.name}"):
            if self._ours():
                gone = f"ALTER TABLE {self._of} DROP COLUMN IF EXISTS {self._quoted}"
                self.session.change(*self._waiting.away(), gone)

    @property
    def _of(self) -> str:
        return self.session.quoted(self._table().schema, self._table().name)

    @property
    def _quoted(self) -> str:
        return self.session.quoted(self.name)

    @property
    def _unit(self) -> bool:
        """Whether vectors count as scaled to unit length: by cosine they do."""
        return self.encoding.unit or self.encoding.metric == "cosine"

    def _expression(self, table: Table) -> Expression | None:
        if self.encoding.strategy != "expression" or table.index is None:
            return None
        return Expression(self.session, table, table.index, self.name, self.encoding, self._unit)

    def _ours(self) -> bool:
        """Whether the column is there; an error if it is somebody else's."""
        there = self._comments()
        if there and not (there[0] or "").startswith(_MARK):
            raise InputError(
                f"{self.address}: there is a column {self.name} that unhub did not make; choose another name."
            )
        return bool(there)

    def _comments(self) -> list[str | None]:
        """The comment on the column, if there is such a column."""
        schema = self.address.options.get("schema", "public")
        return [row[0] for row in self.session.rows(_COMMENT, (schema, self.address.options["table"], self.name))]
