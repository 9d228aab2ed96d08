"""pgvector: a table of PostgreSQL with a vector column. Nothing is copied: a bias becomes one more column of the table.

``pgvector://user:password@host:5432/database?table=items&column=embedding&id=id&schema=public``; libpq finds what is
not in the address in its own places: PGHOST, PGPASSWORD, ~/.pgpass, service files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import Collection, are_unit, checked_queries
from unhub.stores.address import Address
from unhub.stores.interface import Abilities, Block, CorrectedIndex, Description, Metric, SearchResults
from unhub.stores.pgvector.column import BiasColumn
from unhub.stores.pgvector.session import PASSED_ON, Session
from unhub.stores.pgvector.table import OPERATORS, Ranking, Table, blocks, condition, find, ids_alone, read, search
from unhub.stores.vector_encoding import VectorEncoding

SAMPLE = 1000  # vectors that are checked for unit length
SCORES: dict[Metric, Any] = {"ip": lambda d: -d, "cosine": lambda d: 1 - d, "l2": lambda d: -d * d}
_NO_COPIES = (
    "unhub makes no new tables in PostgreSQL; export with the strategy expression or column, which add a column."
)


def open_collection(address: Address) -> PgvectorTable:
    """The table of an address; it is read when first needed."""
    address.allow("table", "column", "id", "schema", "host", "timeout", "metric", "ef_search", "probes", *PASSED_ON)
    if not address.options.get("table"):
        raise InputError(f"{address}: which table? Add ?table=items to the address.")
    return PgvectorTable(address, Session(address))


class PgvectorTable(Collection):
    """One table, its key and one of its vector columns. Rows without a vector are no items.

    A filter is a dict, a pair of SQL and values, or made with psycopg.sql.
    """

    kind = "pgvector"
    longest_name = 63 - len("_waiting")  # PostgreSQL keeps 63 bytes, and this name gets endings
    abilities = Abilities(("expression", "column", "rerank"), metrics=(), items_per_second=1_500, snapshot=True)

    def __init__(self, address: Address, session: Session) -> None:
        super().__init__(address)
        self.session = session
        self._read: Table | None = None

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.address.options["table"]

    @property
    def schema(self) -> str:
        """The schema of the table."""
        return self.address.options.get("schema", "public")

    def table(self, *, again: bool = False) -> Table:
        """What the catalogue says of the table, as it was when last read or as it is."""
        if again or self._read is None:
            self._read = read(self.session, self.address, self.schema, self.name)
        return self._read

    def sibling(self, name: str) -> PgvectorTable:
        """Another table of the same schema, through the same connection."""
        return PgvectorTable(replace(self.address, options={**self.address.options, "table": name}), self.session)

    def corrected_index(self, name: str, encoding: VectorEncoding) -> CorrectedIndex:
        """The table with a column of that name for the bias, and an index over both if the table has one."""
        return BiasColumn(self.session, self.address, self.table, name, encoding)

    def close(self) -> None:
        """Closes the connection."""
        self.session.close()

    def _exists(self) -> bool:
        return find(self.session, self.schema, self.name) is not None

    def _describe(self) -> Description:
        table = self.table(again=True)
        column, of = self.session.quoted(table.column), self.session.quoted(table.schema, table.name)
        count = self.session.rows(f"SELECT count({column}) FROM {of}")[0][0]
        first = next(blocks(self.session, self.address, table, SAMPLE, limit=SAMPLE), None)
        unit = None if first is None else are_unit(first.vectors)
        index = "none" if table.index is None else table.index.method
        graph = index == "hnsw"
        return Description(
            self.url, table.metric, table.dim, count, index, table.index is None, table.dtype, unit, graph=graph
        )

    def _scan(self, block: int) -> Iterator[Block]:
        yield from blocks(self.session, self.address, self.table(again=True), block)

    def _ids(self, block: int) -> Iterator[list[str]]:
        yield from ids_alone(self.session, self.table(again=True), block)

    def _search(self, queries: FloatArray, k: int, filter: Any, exact: bool) -> SearchResults:
        table = self.table()
        vectors = checked_queries(self.url, queries, table.dim)
        column, operator = self.session.quoted(table.column), OPERATORS[table.metric]
        plain = indexed = f"{column} {operator} %b::{table.kind}"
        if table.index is not None and table.index.kind != table.kind:
            indexed = f"{column}::halfvec({table.dim}) {operator} %b::halfvec({table.dim})"
        by_index = None if exact or table.index is None else Ranking(indexed, vectors, SCORES[table.metric])
        where = condition(self.session, filter)
        return search(self.session, table, where, k, Ranking(plain, vectors, SCORES[table.metric]), by_index)

    def _marked(self) -> bool:
        return False  # unhub makes no tables

    def _create(self, like: Collection, dim: int, metric: Metric) -> None:
        raise InputError(f"{self.url}: {_NO_COPIES}")

    def _upsert(self, block: Block) -> None:
        raise InputError(f"{self.url}: {_NO_COPIES}")

    def _delete(self, ids: Sequence[str]) -> None:
        table = self.table()
        of, id = self.session.quoted(table.schema, table.name), self.session.quoted(table.id)
        self.session.rows(f"DELETE FROM {of} WHERE {id} = ANY(%s::text[]::{table.id_type}[])", [list(ids)])

    def _finish(self) -> None:
        pass  # PostgreSQL keeps its indexes up to date

    def _drop(self) -> None:
        self.session.change(f"DROP TABLE IF EXISTS {self.session.quoted(self.schema, self.name)}")
        self._read = None
