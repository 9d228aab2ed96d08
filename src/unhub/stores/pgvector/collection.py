"""pgvector: a table of PostgreSQL with a vector column. Nothing is copied: a bias becomes one more column of the table.

``pgvector://user:password@host:5432/database?table=items&column=embedding&id=id&schema=public``; what is not in the
address, libpq finds in its own places: PGHOST, PGPASSWORD, ~/.pgpass, service files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import CollectionBase, are_unit, checked_queries, guarded
from unhub.stores.address import Address
from unhub.stores.pgvector.column import BiasColumn
from unhub.stores.pgvector.search import Way, condition, search
from unhub.stores.pgvector.session import PASSED_ON, Session
from unhub.stores.pgvector.table import OPERATORS, Table, blocks, find, ids_alone, read
from unhub.stores.protocol import (
    BLOCK,
    Abilities,
    Block,
    Collection,
    CorrectedIndex,
    Description,
    Metric,
    SearchResults,
)
from unhub.stores.vector_encoding import VectorEncoding

LOOKED_AT = 1000
"""vectors that tell whether all have unit length"""
SCORES: dict[Metric, Any] = {"ip": lambda d: -d, "cosine": lambda d: 1 - d, "l2": lambda d: -d * d}
_NO_COPIES = "unhub makes no new tables in PostgreSQL; export in the strategy expression or column, which add a column."


def open_collection(address: Address) -> PgvectorTable:
    """The table of an address; it is looked at when it is first needed."""
    address.allow("table", "column", "id", "schema", "host", "timeout", "metric", "ef_search", "probes", *PASSED_ON)
    if not address.options.get("table"):
        raise InputError(f"{address}: which table? Add ?table=items to the address.")
    return PgvectorTable(address, Session(address))


class PgvectorTable(CollectionBase):
    """One table, its key and one of its vector columns."""

    kind = "pgvector"
    longest_name = 63 - len("_waiting")  # PostgreSQL keeps 63 bytes, and some names are made of this one
    abilities = Abilities(("expression", "column", "rerank"), metrics=(), items_per_second=1_500, snapshot=True)

    def __init__(self, address: Address, session: Session) -> None:
        super().__init__(address)
        self.session = session
        self._seen: Table | None = None

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.address.options["table"]

    @property
    def schema(self) -> str:
        """The schema that the table is in."""
        return self.address.options.get("schema", "public")

    def exists(self) -> bool:
        """Whether the table is there."""
        with guarded(self.address, "cannot be reached"):
            return find(self.session, self.schema, self.name) is not None

    def table(self, *, again: bool = False) -> Table:
        """What the catalogue says of it, as it was when last looked at or as it is."""
        if again or self._seen is None:
            self._seen = read(self.session, self.address, self.schema, self.name)
        return self._seen

    def describe(self) -> Description:
        """Metric, dimension, count, index, as they are now; rows without a vector do not count."""
        with guarded(self.address, "cannot be described"):
            table = self.table(again=True)
            of, column = self.session.quoted(table.schema, table.name), self.session.quoted(table.column)
            count = self.session.rows(f"SELECT count({column}) FROM {of}")[0][0]
            index = table.index
        first = next(blocks(self.session, self.address, table, LOOKED_AT, limit=LOOKED_AT), None)
        unit = None if first is None else are_unit(first.vectors)
        kind = "none" if index is None else index.method
        return Description(
            self.url, table.metric, table.dim, count, kind, index is None, table.dtype, unit, graph=kind == "hnsw"
        )

    def scan(self, block: int = BLOCK) -> Iterator[Block]:
        """Every row that has a vector, by its id, as all of them are at this moment."""
        with guarded(self.address, "cannot be read"):
            table = self.table(again=True)
        yield from blocks(self.session, self.address, table, block)

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids in the order of ``scan``."""
        with guarded(self.address, "cannot be read"):
            table = self.table(again=True)
        yield from ids_alone(self.session, self.address, table, block)

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k most similar rows of each query; a filter is a dict, a pair of SQL and values, or psycopg.sql."""
        with guarded(self.address, "cannot be searched"):
            table = self.table()
            asked = checked_queries(self.url, queries, table.dim)
            column, operator = self.session.quoted(table.column), OPERATORS[table.metric]
            plain = indexed = f"{column} {operator} %b::{table.kind}"
            if table.index is not None and table.index.kind != table.kind:
                indexed = f"{column}::halfvec({table.dim}) {operator} %b::halfvec({table.dim})"
            by_index = None if exact or table.index is None else Way(indexed, asked, SCORES[table.metric])
            where = condition(self.session, filter)
            return search(self.session, table, where, k, Way(plain, asked, SCORES[table.metric]), by_index)

    def sibling(self, name: str) -> PgvectorTable:
        """Another table of the same schema, through the same connection."""
        return PgvectorTable(replace(self.address, options={**self.address.options, "table": name}), self.session)

    def corrected_index(self, name: str, encoding: VectorEncoding) -> CorrectedIndex:
        """The table with a column of that name for the bias, and an index over both if the table has one."""
        return BiasColumn(self.session, self.address, self.table, name, encoding)

    def made_by_unhub(self) -> bool:
        """False: unhub makes no tables."""
        return False

    def create(self, like: Collection, dim: int, metric: Metric) -> None:
        """No table is made."""
        raise InputError(f"{self.url}: {_NO_COPIES}")

    def upsert(self, block: Block) -> None:
        """No rows are written."""
        raise InputError(f"{self.url}: {_NO_COPIES}")

    def delete(self, ids: Sequence[str]) -> None:
        """Deletes rows."""
        with guarded(self.address, "cannot be changed"):
            table = self.table()
            of, id = self.session.quoted(table.schema, table.name), self.session.quoted(table.id)
            self.session.rows(f"DELETE FROM {of} WHERE {id} = ANY(%s::text[]::{table.id_type}[])", [list(ids)])

    def finish(self) -> None:
        """Nothing is left to do: PostgreSQL keeps its indexes up to date."""

    def drop(self) -> None:
        """Removes the table itself."""
        with guarded(self.address, "cannot be dropped"):
            self.session.change(f"DROP TABLE IF EXISTS {self.session.quoted(self.schema, self.name)}")
            self._seen = None

    def close(self) -> None:
        """Closes the connection."""
        self.session.close()
