"""LanceDB: ``lancedb:///folder/items`` for a table in a folder, ``lancedb:///items?uri=s3://...`` for one elsewhere.

A correction is a second table beside the first, with its other columns and its indexes, and vectors that carry a bias.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import CollectionBase, are_unit
from unhub.stores.address import Address
from unhub.stores.lancedb import index
from unhub.stores.lancedb.columns import Columns, columns
from unhub.stores.lancedb.database import Database, beside, said
from unhub.stores.lancedb.rows import Writer, batches, blocks
from unhub.stores.lancedb.search import Facts, best, facts
from unhub.stores.protocol import BLOCK, Abilities, Block, Collection, Description, Metric, SearchResults
from unhub.stores.vector_encoding import PAD_TO


def open_collection(address: Address) -> Collection:
    """The table at an address."""
    address.allow("vector", "id", "metric", "nprobes", "refine_factor", "ef", "timeout", "uri", "region", "host")
    if not address.parts[1]:
        raise InputError(f"{address}: no table is named; write lancedb:///folder/table.")
    if address.options.get("metric", "l2") not in index.DISTANCES:
        raise InputError(f"{address}: there is no metric {address.options['metric']!r}; use ip, cosine or l2.")
    return Table(address, Database(address))


class Table(CollectionBase):
    """One table of a LanceDB database."""

    kind: ClassVar[str] = "lancedb"
    keeps_effort: ClassVar[bool] = False
    abilities = Abilities(
        strategies=("augment", "constant_norm", "rerank"),
        items_per_second=50_000,
        pad_to=PAD_TO,  # product quantisation, which most of its indexes come to, wants it
        snapshot=True,
        noun="table",
    )

    def __init__(self, address: Address, database: Database) -> None:
        super().__init__(address)
        self._database = database
        self._opened: Any = None
        self._facts: Facts | None = None
        self._writer: Writer | None = None
        self._effort = 1.0

    def exists(self) -> bool:
        """Whether the table is there."""
        with said(self.address, "cannot be read"):
            return self._database.table(self.name) is not None

    def describe(self) -> Description:
        """What the table is now; its first vectors are looked at."""
        with said(self.address, "cannot be read"):
            self._opened = None
            table = self._table()
            self._facts = known = facts(table, self.address)
            its, built = known.columns, known.built
            first = next(batches(table, its, [its.id.name, its.vector.name], BLOCK), None)
            return Description(
                url=self.url,
                metric=known.metric,
                dim=its.dim,
                count=table.count_rows(),
                index="flat" if built is None else built.kind.lower(),
                exact=built is None or not built.used,
                dtype=its.dtype,
                unit=None if first is None else are_unit(its.vectors(first)),
                graph=built is not None and built.graph,
                quantiser=None if built is None else built.quantiser,
                notes=(f"{self.url}: blobs are not copied ({', '.join(its.blobs)})",) if its.blobs else (),
            )

    def scan(self, block: int = BLOCK) -> Iterator[Block]:
        """Every row of the newest version; what is written meanwhile makes later ones."""
        with said(self.address, "cannot be read"):
            yield from blocks(*self._newest(), block)

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids of the newest version."""
        with said(self.address, "cannot be read"):
            table, its = self._newest()
            for batch in batches(table, its, [its.id.name], block):
                yield [str(each) for each in its.own(batch)]

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k most similar rows of each query, within an SQL condition such as ``price < 10``."""
        with said(self.address, "cannot be searched"):
            table = self._table()
            self._facts = self._facts or facts(table, self.address)
            return best(table, self._facts, self.address, queries, k, filter, exact, self._effort)

    def raise_effort(self, factor: float) -> bool:
        """Has searches with an index look at more: larger nprobes, ef and refine_factor."""
        with said(self.address, "cannot be searched"):
            self._facts = self._facts or facts(self._table(), self.address)
        if self._facts.built is None:
            return False
        self._effort *= factor
        return True

    def sibling(self, name: str) -> Table:
        """Another table of the database."""
        return Table(beside(self.address, name), self._database)

    def made_by_unhub(self) -> bool:
        """Whether the table's schema says so."""
        with said(self.address, "cannot be read"):
            table = self._database.table(self.name)
            return table is not None and index.marked(table.schema)

    def create(self, like: Collection, dim: int, metric: Metric) -> None:
        """Makes it with the columns of another table; its schema notes the indexes that ``finish`` is to build."""
        if not isinstance(like, Table):
            raise InputError(f"{self.url}: a LanceDB table is made like another one, not like {like.url}.")
        if self.exists():
            return
        with said(self.address, "cannot be created"):
            source, its = like._newest()
            schema = index.schema_like(source, its, dim, metric)
            self._database.connected().create_table(self.name, schema=schema, exist_ok=True)

    def upsert(self, block: Block) -> None:
        """Takes rows; they are committed some ten thousand at a time, the last ones by ``finish``."""
        with said(self.address, "cannot be written"):
            if self._writer is None:
                table, its = self._newest()
                there = (str(each) for batch in batches(table, its, [its.id.name], BLOCK) for each in its.own(batch))
                self._writer = Writer(self._table(), its, there)
            self._writer.upsert(block)

    def delete(self, ids: Sequence[str]) -> None:
        """Takes rows out."""
        with said(self.address, "cannot be changed"):
            table = self._table()
            its = columns(table.schema, self.address)
            for start in range(0, len(ids), BLOCK):
                table.delete(its.among(ids[start : start + BLOCK]))
            if self._writer is not None:
                self._writer.forget(ids)

    def finish(self) -> None:
        """Commits what is still to be written, and builds the indexes that were noted when the table was made."""
        with said(self.address, "cannot be finished"):
            table = self._table()
            self._facts = None
            index.build(table, index.from_metadata(table.schema)[1])

    def drop(self) -> None:
        """Removes the table with all its versions."""
        with said(self.address, "cannot be dropped"):
            if self.exists():
                self._database.connected().drop_table(self.name, ignore_missing=True)
        self._opened = self._facts = self._writer = None

    def close(self) -> None:
        """Commits what is still to be written, and lets go of the table."""
        with said(self.address, "cannot be written"):
            if self._writer is not None:
                self._writer.commit()
        self._opened = self._facts = self._writer = None

    def _table(self) -> Any:
        """LanceDB's table, with all that was put into it."""
        if self._writer is not None:
            self._writer.commit()
        if self._opened is None:
            self._opened = self._database.table(self.name)
        if self._opened is None:
            raise self._database.missing(self.name)
        return self._opened

    def _newest(self) -> tuple[Any, Columns]:
        """The newest version of the table as it stays, and its columns."""
        version = self._table().version
        table = self._database.connected().open_table(self.name)
        table.checkout(version)
        return table, columns(table.schema, self.address)
