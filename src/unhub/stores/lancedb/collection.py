"""LanceDB: ``lancedb:///folder/items`` for a table in a folder, ``lancedb:///items?uri=s3://...`` for one elsewhere.

A correction is a second table beside the first, with its other columns and its indexes, and vectors that carry a bias.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from unhub.foundation.errors import InputError, UnhubWarning
from unhub.foundation.types import FloatArray
from unhub.stores.address import Address
from unhub.stores.lancedb import index
from unhub.stores.lancedb.columns import Columns, columns
from unhub.stores.lancedb.database import Database, beside, said
from unhub.stores.lancedb.rows import batches, blocks
from unhub.stores.lancedb.search import Facts, best, facts
from unhub.stores.lancedb.writer import Writer
from unhub.stores.layout import PAD_TO
from unhub.stores.lengths import are_unit
from unhub.stores.protocol import BLOCK, Abilities, Block, Collection, Description, Found, Metric


def open_collection(address: Address) -> Collection:
    """The table at an address."""
    address.allow("vector", "id", "metric", "nprobes", "refine_factor", "ef", "timeout", "uri", "region", "host")
    if not address.parts[1]:
        raise InputError(f"{address}: no table is named; write lancedb:///folder/table.")
    if address.options.get("metric", "l2") not in index.DISTANCES:
        raise InputError(f"{address}: there is no metric {address.options['metric']!r}; use ip, cosine or l2.")
    return Table(address, Database(address))


class Table:
    """One table of a LanceDB database."""

    kind: ClassVar[str] = "lancedb"
    keeps_effort: ClassVar[bool] = False
    abilities = Abilities(
        forms=("augment", "constant_norm", "rerank"),
        items_per_second=50_000,
        pad_to=PAD_TO,  # product quantisation, which most of its indexes come to, wants it
        snapshot=True,
    )

    def __init__(self, address: Address, database: Database) -> None:
        self._address = address
        self._database = database
        self._opened: Any = None
        self._facts: Facts | None = None
        self._writer: Writer | None = None
        self._effort = 1.0

    @property
    def url(self) -> str:
        """Where it is."""
        return str(self._address)

    @property
    def name(self) -> str:
        """The table's name."""
        return self._address.parts[1]

    def exists(self) -> bool:
        """Whether the table is there."""
        with said(self._address, "cannot be read"):
            return self._database.table(self.name) is not None

    def describe(self) -> Description:
        """What the table is now; its first vectors are looked at."""
        with said(self._address, "cannot be read"):
            self._opened = None
            table = self._table()
            self._facts = known = facts(table, self._address)
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
            )

    def scan(self, block: int = BLOCK) -> Iterator[Block]:
        """Every row of the newest version; what is written meanwhile makes later ones."""
        with said(self._address, "cannot be read"):
            yield from blocks(*self._newest(), block)

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids of the newest version."""
        with said(self._address, "cannot be read"):
            table, its = self._newest()
            for batch in batches(table, its, [its.id.name], block):
                yield [str(each) for each in its.own(batch)]

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> Found:
        """The k most similar rows of each query, within an SQL condition such as ``price < 10``."""
        with said(self._address, "cannot be searched"):
            table = self._table()
            self._facts = self._facts or facts(table, self._address)
            return best(table, self._facts, self._address, queries, k, filter, exact, self._effort)

    def harder(self, factor: float) -> bool:
        """Has searches with an index look at more: larger nprobes, ef and refine_factor."""
        with said(self._address, "cannot be searched"):
            self._facts = self._facts or facts(self._table(), self._address)
        if self._facts.built is None:
            return False
        self._effort *= factor
        return True

    def derived(self, tag: str) -> str:
        """The name of a table made beside this one."""
        return f"{self.name}_unhub_{tag}"

    def sibling(self, name: str) -> Table:
        """Another table of the database."""
        return Table(beside(self._address, name), self._database)

    def made_by_unhub(self) -> bool:
        """Whether the table's schema says so."""
        with said(self._address, "cannot be read"):
            table = self._database.table(self.name)
            return table is not None and index.marked(table.schema)

    def create(self, like: Collection, dim: int, metric: Metric) -> None:
        """Makes it with the columns of another table; its schema notes the indexes that ``finish`` is to build."""
        if not isinstance(like, Table):
            raise InputError(f"{self.url}: a LanceDB table is made like another one, not like {like.url}.")
        if self.exists():
            return
        with said(self._address, "cannot be created"):
            source, its = like._newest()
            if its.blobs:
                warnings.warn(f"{self.url}: blobs are not copied ({', '.join(its.blobs)}).", UnhubWarning, stacklevel=2)
            schema = index.schema_like(source, its, dim, metric)
            self._database.connected().create_table(self.name, schema=schema, exist_ok=True)

    def put(self, block: Block) -> None:
        """Takes rows; they are committed some ten thousand at a time, the last ones by ``finish``."""
        with said(self._address, "cannot be written"):
            if self._writer is None:
                table, its = self._newest()
                there = (str(each) for batch in batches(table, its, [its.id.name], BLOCK) for each in its.own(batch))
                self._writer = Writer(self._table(), its, there)
            self._writer.put(block)

    def delete(self, ids: Sequence[str]) -> None:
        """Takes rows out."""
        with said(self._address, "cannot be changed"):
            table = self._table()
            its = columns(table.schema, self._address)
            for start in range(0, len(ids), BLOCK):
                table.delete(its.among(ids[start : start + BLOCK]))
            if self._writer is not None:
                self._writer.forget(ids)

    def finish(self) -> None:
        """Commits what is still to be written, and builds the indexes that were noted when the table was made."""
        with said(self._address, "cannot be finished"):
            table = self._table()
            self._facts = None
            index.build(table, index.from_metadata(table.schema)[1])

    def drop(self) -> None:
        """Removes the table with all its versions."""
        with said(self._address, "cannot be dropped"):
            if self.exists():
                self._database.connected().drop_table(self.name, ignore_missing=True)
        self._opened = self._facts = self._writer = None

    def alias(self, name: str) -> str | None:
        """None: LanceDB has no second names."""
        return None

    def point(self, name: str, collection: str | None) -> None:
        """Refused: LanceDB has no second names."""
        raise InputError(f"{self.url}: LanceDB has no aliases; open the table {collection!r} by its own name.")

    def close(self) -> None:
        """Commits what is still to be written, and lets go of the table."""
        with said(self._address, "cannot be written"):
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
        return table, columns(table.schema, self._address)
