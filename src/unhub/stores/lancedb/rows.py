"""Rows of a LanceDB table: read in blocks of bounded size, written in a few large commits, no item twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from unhub.foundation.errors import StoreError
from unhub.foundation.optional import require
from unhub.stores.lancedb.columns import Columns
from unhub.stores.protocol import Block

_AT_ONCE = 32 << 20
"""bytes of vectors that are read at once: LanceDB's own stream reads ahead, as much as a gigabyte"""
_COMMIT = 32 << 20
"""bytes that are gathered before they are written: a commit for each 4096 items takes more than twice as long"""


class Rows(Sequence[tuple[Any, int]]):
    """The items of a record batch, each as (batch, row): picking some copies nothing until they are written."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [(self.batch, each) for each in range(*row.indices(len(self)))]
        return self.batch, range(len(self))[row]


def blocks(table: Any, its: Columns, block: int) -> Iterator[Block]:
    """Every row, in the table's order."""
    seen: set[str] = set()
    for batch in batches(table, its, [its.id.name, its.vector.name, *its.payload], block):
        ids = [str(each) for each in its.own(batch)]
        new = set(ids)
        if len(new) < len(ids) or not seen.isdisjoint(new):
            twice = next(each for each, times in Counter(ids).items() if times > 1 or each in seen)
            raise StoreError(f"{its.url}: the id {twice!r} is there twice; leave one row for each id.")
        seen |= new
        yield Block(ids, its.vectors(batch), Rows(batch.select(list(its.payload))))


def batches(table: Any, its: Columns, names: list[str], block: int) -> Iterator[Any]:
    """Record batches of these columns, each of ``block`` rows but the last."""
    step = max(1, _AT_ONCE // (4 * its.dim * block)) * block
    for start in range(0, table.count_rows(), step):
        rows = table.search().select(names).limit(step).offset(start).to_arrow()
        yield from rows.combine_chunks().to_batches(max_chunksize=block)


class Writer:
    """Gathers items and commits them. What a killed process had gathered is missing, and nothing else is."""

    def __init__(self, table: Any, columns: Columns, known: Iterable[str]) -> None:
        self._table = table
        self._columns = columns
        self._known = set(known)
        """ids in the table: LanceDB would append an item that is there a second time"""
        self._gathered: list[Any] = []
        self._ids: set[str] = set()

    def upsert(self, block: Block) -> None:
        """Takes items; commits them with those before if they are enough."""
        if not len(block):
            return
        last = {each: row for row, each in enumerate(block.ids)}
        if len(last) < len(block):
            block = block.pick(list(last.values()))
        if not self._ids.isdisjoint(last):
            self.commit()
        self._gathered.append(self._columns.table(block))
        self._ids.update(last)
        if sum(each.nbytes for each in self._gathered) >= _COMMIT:
            self.commit()

    def commit(self) -> None:
        """Writes what was gathered as one new version of the table."""
        if not self._gathered:
            return
        arrow = require("pyarrow", extra="lancedb")
        rows = arrow.concat_tables(self._gathered, promote_options="default")
        if self._known.isdisjoint(self._ids):
            self._table.add(rows)
        else:
            merge = self._table.merge_insert(self._columns.id.name)
            merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)
        self._known |= self._ids
        self._gathered, self._ids = [], set()

    def forget(self, ids: Iterable[str]) -> None:
        """Takes note that these ids are no longer in the table."""
        self._known.difference_update(ids)
