"""A bias in a column of the table itself, and an index over vector and bias together where the table has an index.

column      every search looks at every row: ORDER BY distance - bias.
expression  with an index over vector and bias (an expression index), which PostgreSQL keeps up to date by itself.

No row is copied. Rows without a bias have bias 0. What is written waits in a small table until ``finish``; fill.py says
why.

The index is over (embedding || ARRAY[b, filler, 0 ...]::vector)::vector(width) with b = c (bias - middle), by inner
product with [q; 1/c; 0 ...]. Every function in it is immutable and none parses text. HNSW links a row to those with the
largest inner product. With rows of any length those would be the longest rows and those with the largest biases, not
the nearest: so the middle of the biases is subtracted, and the filler, sqrt(M^2 - |embedding|^2 - b^2), makes all
equally long. A later row that has no room for a filler has none, and is still ranked correctly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import checked_queries, guarded
from unhub.stores.address import Address
from unhub.stores.interface import BLOCK, Block, SearchResults
from unhub.stores.pgvector.fill import Waiting
from unhub.stores.pgvector.session import Session
from unhub.stores.pgvector.table import Index, Ranking, Table, condition, search
from unhub.stores.vector_encoding import VectorEncoding

_MARK = "unhub: bias to add to the similarity of "  # how the comment on every column that unhub made begins
WIDEST = {"vector": 2000, "halfvec": 4000}  # numbers that an index of pgvector takes
SUFFIX = "_index"
PATIENCE = 10  # how many times the usual timeout building an index waits for other transactions
_COMMENT = """
    SELECT col_description(a.attrelid, a.attnum) FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s AND a.attname = %s AND NOT a.attisdropped"""
_INDEX_COMMENT = """
    SELECT obj_description(c.oid, 'pg_class') = %s AND i.indisvalid
    FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE i.indrelid = %s AND c.relname = %s"""
_OVER_COLUMN = """
    SELECT EXISTS (
        SELECT 1 FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        WHERE d.objid = c.oid AND d.refobjid = %s AND a.attname = %s)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""


class BiasColumn:
    """One column of one table, filled with biases, and the searches that use it."""

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
        """Whether the column exists."""
        with guarded(self.address, "cannot be reached"):
            return bool(self._comments())

    def made_by_unhub(self) -> bool:
        """Whether the comment on the column says so."""
        with guarded(self.address, "cannot be reached"):
            return any((comment or "").startswith(_MARK) for comment in self._comments())

    def create(self) -> None:
        """Adds the column, with a comment that marks it as unhub's."""
        with guarded(self.address, "cannot be given a column"):
            table = self._table()
            self._expression(table)
            if not table.keyed:
                raise InputError(
                    f"{self.address}: the column {table.id} is no key; make it unique or choose with ?id=."
                )
            if self._ours():
                return
            note = f"{_MARK}{table.column}; dropping this column undoes the correction"
            self.session.change(
                *self._waiting.removal(),
                f"ALTER TABLE {self._of} ADD COLUMN {self._quoted} real",
                f"COMMENT ON COLUMN {self._of}.{self._quoted} IS {self.session.literal(note)}",
            )

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids of the rows that have a bias or wait for one."""
        with guarded(self.address, "cannot be read"):
            yield from self._waiting.ids(block)

    def write(self, block: Block, bias: FloatArray) -> None:
        """Gathers biases for ``finish``; the vectors are in the table already."""
        with guarded(self.address, "cannot be written"):
            self._waiting.add(block.ids, np.asarray(bias, dtype=np.float32))

    def delete(self, ids: Sequence[str]) -> None:
        """Removes the bias of rows; the rows stay."""
        with guarded(self.address, "cannot be changed"):
            self._waiting.remove(ids)

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
            vectors = checked_queries(str(self.address), queries, table.dim)
            where = condition(self.session, filter)
            unit = self._unit
            vector = self.session.quoted(table.column)
            distance = f"({vector} {'<=>' if unit else '<#>'} %b::{table.kind}) - COALESCE({self._quoted}, 0)"
            plain = Ranking(distance, vectors, lambda distance: float(unit) - distance)
            expression = None if exact else self._expression(table)
            by_index = None
            if expression is not None:
                middle, indexed = expression.middle, expression.queries(vectors)
                by_index = Ranking(expression.distance, indexed, lambda distance: middle - distance, self._effort)
            return search(self.session, table, where, k, plain, by_index)

    def raise_effort(self, factor: float) -> bool:
        """Makes searches with the index look at more: a larger ef_search, or more probes."""
        if self.encoding.strategy != "expression":
            return False
        self._effort *= factor
        return True

    def close(self) -> None:
        """Does nothing: the connection is the collection's."""

    def drop(self) -> None:
        """Removes the column, its index and whatever still waits; the table is as it was."""
        with guarded(self.address, f"cannot lose the column {self.name}"):
            if self._ours():
                gone = f"ALTER TABLE {self._of} DROP COLUMN IF EXISTS {self._quoted}"
                self.session.change(*self._waiting.removal(), gone)

    @property
    def _of(self) -> str:
        return self.session.quoted(self._table().schema, self._table().name)

    @property
    def _quoted(self) -> str:
        return self.session.quoted(self.name)

    @property
    def _unit(self) -> bool:
        """Whether vectors count as scaled to unit length, as with cosines."""
        return self.encoding.unit or self.encoding.metric == "cosine"

    def _expression(self, table: Table) -> Expression | None:
        if self.encoding.strategy != "expression" or table.index is None:
            return None
        return Expression(self.session, table, table.index, self.name, self.encoding, self._unit)

    def _ours(self) -> bool:
        """Whether the column exists; an error if unhub did not make it."""
        comments = self._comments()
        if comments and not (comments[0] or "").startswith(_MARK):
            raise InputError(f"{self.address} has a column {self.name} that unhub did not make; choose another name.")
        return bool(comments)

    def _comments(self) -> list[str | None]:
        """The comment on the column, if it exists."""
        schema = self.address.options.get("schema", "public")
        return [row[0] for row in self.session.rows(_COMMENT, (schema, self.address.options["table"], self.name))]


@dataclass(frozen=True)
class Expression:
    """Vector and bias of one table in one expression, indexed like the vectors alone."""

    session: Session
    table: Table
    index: Index
    column: str
    encoding: VectorEncoding
    unit: bool  # whether vectors are scaled to unit length

    def __post_init__(self) -> None:
        if self.table.dim >= WIDEST[self.index.kind]:
            raise InputError(
                f"{self.session.address}: vectors of {self.table.dim} leave no room for a bias in an index, which "
                f"takes {WIDEST[self.index.kind]} numbers at most; use the strategy column, or a column of halfvec."
            )

    @property
    def width(self) -> int:
        """Numbers in the index for a row: padded, if there is room for that."""
        width = self.encoding.width
        return width if width <= WIDEST[self.index.kind] else self.table.dim + 1 + self.filled

    @property
    def filled(self) -> bool:
        """Whether rows are made equally long: if there is room for one more number."""
        return self.encoding.radius > 0 and self.table.dim + 2 <= WIDEST[self.index.kind]

    @property
    def middle(self) -> float:
        """What is subtracted from every bias, as a number that PostgreSQL's real can hold."""
        return float(np.float32(self.encoding.middle))

    @property
    def distance(self) -> str:
        """Minus (score + bias - middle), with a placeholder for the query [q; 1/c; 0 ...]."""
        return f"{self.whole} <#> %b::{self.index.kind}"

    @property
    def whole(self) -> str:
        """The expression itself."""
        kind = self.index.kind
        vector = self.session.quoted(self.table.column)
        if kind != self.table.kind:
            vector = f"{vector}::{kind}"
        if self.unit:
            vector = f"l2_normalize({vector})"
        numbers = [self._bias, *([self._filler(vector)] if self.filled else [])]
        numbers += ["0"] * (self.width - self.table.dim - len(numbers))
        return f"(({vector} || ARRAY[{', '.join(numbers)}]::real[]::{kind})::{kind}({self.width}))"

    @property
    def _bias(self) -> str:
        bias = f"COALESCE({self.session.quoted(self.column)}, 0) - '{self.middle!r}'::real"
        return bias if self.encoding.scale == 1 else f"({bias}) * '{self.encoding.scale!r}'::real"

    def _filler(self, vector: str) -> str:
        squares = "1" if self.unit else f"-({vector} <#> {vector})"
        rest = f"'{self.encoding.radius**2!r}'::float8 - {squares} - power(({self._bias})::float8, 2)"
        return f"sqrt(greatest({rest}, 0))"

    def queries(self, queries: FloatArray) -> FloatArray:
        """[q; 1/c; 0 ...] (query, width)"""
        return replace(self.encoding, width=self.width, unit=self.unit).queries(queries)

    @property
    def definition(self) -> str:
        """The index as it should be: of the kind and with the options of the index over the vectors alone."""
        options = f" WITH ({', '.join(self.index.options)})" if self.index.options else ""
        return f"{self.index.method} ({self.whole} {self.index.kind}_ip_ops){options}"

    def built(self) -> bool:
        """Whether the index exists and is as it should be."""
        comments = self.session.rows(
            _INDEX_COMMENT, (f"unhub: {self.definition}", self.table.oid, f"{self.column}{SUFFIX}")
        )
        return bool(comments and comments[0][0])

    def clear(self) -> None:
        """Drops an index of that name, which would only make writing slower; one over our column is ours."""
        name = f"{self.column}{SUFFIX}"
        indexes = self.session.rows(_OVER_COLUMN, (self.table.oid, self.column, self.table.schema, name))
        if indexes and not indexes[0][0]:
            raise InputError(f"{self.session.address}: there is a {name} that unhub did not make; rename it.")
        self._run(f"DROP INDEX {self._concurrently} IF EXISTS {self._named}")

    def build(self) -> None:
        """Builds the index, while others read and write where PostgreSQL can do that."""
        quoted = self.session.quoted
        name, of = quoted(f"{self.column}{SUFFIX}"), quoted(self.table.schema, self.table.name)
        self._run(
            f"CREATE INDEX {self._concurrently} {name} ON {of} USING {self.definition}",
            f"COMMENT ON INDEX {self._named} IS {self.session.literal(f'unhub: {self.definition}')}",
        )

    @property
    def _concurrently(self) -> str:
        return "" if self.table.partitioned else "CONCURRENTLY"

    @property
    def _named(self) -> str:
        return self.session.quoted(self.table.schema, f"{self.column}{SUFFIX}")

    def _run(self, *statements: str) -> None:
        seconds = round(PATIENCE * self.session.timeout)
        with self.session.patient(seconds), self.session.connect() as live:
            live.execute(f"SET lock_timeout = '{seconds}s'")
            for each in statements:
                live.execute(each, ())
