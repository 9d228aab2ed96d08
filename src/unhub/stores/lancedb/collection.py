"""LanceDB: ``lancedb:///folder/items`` for a table in a folder, ``lancedb:///items?uri=s3://...`` for one elsewhere.

A correction is a second table beside the first, with its other columns and its indexes, and vectors that carry a bias.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.stores.adapter import Collection, are_unit, guarded
from unhub.stores.address import Address
from unhub.stores.interface import BLOCK, Abilities, Block, Description, Metric, SearchResults
from unhub.stores.lancedb import index
from unhub.stores.lancedb.rows import Columns, Writer, batches, blocks, columns
from unhub.stores.vector_encoding import PAD_TO

_SOURCE = re.compile(r",? \S+\.rs:\d+(:\d+)?|^lance error: (LanceError\(\w+\): )?")  # places in its source
_LISTED = 8


def open_collection(address: Address) -> Collection:
    """The table at an address."""
    address.allow("vector", "id", "metric", "nprobes", "refine_factor", "ef", "timeout", "uri", "region", "host")
    if not address.parts[1]:
        raise InputError(f"{address}: no table is named; write lancedb:///folder/table.")
    if address.options.get("metric", "l2") not in index.DISTANCES:
        raise InputError(f"{address}: there is no metric {address.options['metric']!r}; use ip, cosine or l2.")
    return Table(address, Database(address))


class Database:
    """The database of an address; connected when first needed, and shared by its tables. It is never created."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._uri = address.value("uri")
        self._folder = Path(address.parts[0] or ".")
        self._connection: Any = None

    def connected(self) -> Any:
        """LanceDB's connection. Each read sees the newest version, whoever wrote it."""
        if self._connection is None:
            if self._missing_folder():
                raise StoreError(f"{self._address}: there is no folder {str(self._folder)!r}; check the path.")
            self._connection = require("lancedb", extra="lancedb").connect(
                self._uri or str(self._folder),
                api_key=self._address.secret("api_key"),
                region=self._address.value("region") or "us-east-1",
                host_override=self._address.value("host"),
                read_consistency_interval=timedelta(0),
            )
        return self._connection

    def table(self, name: str) -> Any:
        """LanceDB's table of that name, or None."""
        if self._missing_folder():
            return None
        try:
            return self.connected().open_table(name)
        except ValueError as error:
            if "was not found" in str(error):
                return None
            raise

    def missing(self, name: str) -> StoreError:
        """The error for a missing table, with the tables that exist."""
        names = sorted(self.connected().list_tables(limit=_LISTED).tables)
        damaged = " that can be read" if name in names else ""
        listed = f"there are {', '.join(names)}" if names else "there is none at all"
        return StoreError(f"{self._address}: there is no table {name!r}{damaged}; {listed}.")

    def _missing_folder(self) -> bool:
        return self._uri is None and not self._folder.is_dir()  # LanceDB would make it


class Table(Collection):
    """One table of a LanceDB database. A filter is an SQL condition such as ``price < 10``."""

    kind: ClassVar[str] = "lancedb"
    abilities = Abilities(
        strategies=("augment", "constant_norm", "rerank"),
        items_per_second=50_000,
        pad_to=PAD_TO,  # product quantisation, which most of its indexes use, needs it
        snapshot=True,
        noun="table",
    )

    def __init__(self, address: Address, database: Database) -> None:
        super().__init__(address)
        self._database = database
        self._opened: Any = None
        self._known: index.Facts | None = None
        self._writer: Writer | None = None

    def sibling(self, name: str) -> Table:
        """Another table of the database; its metric is its own."""
        options = {key: value for key, value in self.address.options.items() if key != "metric"}
        return Table(replace(self.address.beside(name), options=options), self._database)

    def close(self) -> None:
        """Commits gathered rows and closes the table."""
        with self.errors("cannot be written"):
            if self._writer is not None:
                self._writer.commit()
        self._forget()

    @contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """``guarded``, without places in LanceDB's source code."""
        with guarded(self.address, doing):
            try:
                yield
            except RuntimeError as error:
                raise RuntimeError(_SOURCE.sub("", str(error))) from error

    def _exists(self) -> bool:
        return self._database.table(self.name) is not None

    def _describe(self) -> Description:
        self._opened = self._known = None
        table, facts = self._table(), self._facts()
        its, built = facts.columns, facts.index
        first = next(batches(table, its, [its.id.name, its.vector.name], BLOCK), None)
        return Description(
            url=self.url,
            metric=facts.metric,
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

    def _scan(self, block: int) -> Iterator[Block]:
        yield from blocks(*self._newest(), block)

    def _ids(self, block: int) -> Iterator[list[str]]:
        table, its = self._newest()
        for batch in batches(table, its, [its.id.name], block):
            yield [str(each) for each in its.own(batch)]

    def _search(self, queries: FloatArray, k: int, filter: Any, exact: bool) -> SearchResults:
        return index.best(self._table(), self._facts(), self.address, queries, k, filter, exact, self._effort)

    def _tunable(self) -> bool:
        return self._facts().index is not None

    def _marked(self) -> bool:
        return index.KEY in (self._database.table(self.name).schema.metadata or {})

    def _create(self, like: Table, dim: int, metric: Metric) -> None:
        if not self._exists():
            schema = index.schema_like(*like._newest(), dim, metric)
            self._database.connected().create_table(self.name, schema=schema, exist_ok=True)

    def _upsert(self, block: Block) -> None:
        # Rows are committed some ten thousand at a time, the last ones by ``finish``.
        if self._writer is None:
            known = (each for page in self._ids(BLOCK) for each in page)
            self._writer = Writer(self._table(), columns(self._table().schema, self.address), known)
        self._writer.upsert(block)

    def _delete(self, ids: Sequence[str]) -> None:
        table = self._table()
        its = columns(table.schema, self.address)
        for start in range(0, len(ids), BLOCK):
            table.delete(its.among(ids[start : start + BLOCK]))
        if self._writer is not None:
            self._writer.forget(ids)

    def _finish(self) -> None:
        table = self._table()
        self._known = None
        index.build(table, index.from_metadata(table.schema)[1])

    def _drop(self) -> None:
        if self._exists():
            self._database.connected().drop_table(self.name, ignore_missing=True)
        self._forget()

    def _forget(self) -> None:
        self._opened = self._known = self._writer = None

    def _table(self) -> Any:
        """LanceDB's table, with all gathered rows committed."""
        if self._writer is not None:
            self._writer.commit()
        if self._opened is None:
            self._opened = self._database.table(self.name)
        if self._opened is None:
            raise self._database.missing(self.name)
        return self._opened

    def _facts(self) -> index.Facts:
        if self._known is None:
            self._known = index.facts(self._table(), self.address)
        return self._known

    def _newest(self) -> tuple[Any, Columns]:
        """The newest version of the table, which later writes do not change, and its columns."""
        version = self._table().version
        table = self._database.connected().open_table(self.name)
        table.checkout(version)
        return table, columns(table.schema, self.address)
