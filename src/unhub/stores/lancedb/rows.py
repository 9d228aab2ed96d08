"""The rows of a LanceDB table: read in blocks of bounded size, and what they hold besides id and vector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from unhub.foundation.errors import StoreError
from unhub.stores.lancedb.columns import Columns
from unhub.stores.protocol import Block

_AT_ONCE = 32 << 20
"""bytes of vectors that are read at once: LanceDB's own stream reads ahead, as much as a gigabyte"""


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
    for batch in batches(table, its, [its.id.name, its.vector.name, *its.rest], block):
        ids = [str(each) for each in its.own(batch)]
        new = set(ids)
        if len(new) < len(ids) or not seen.isdisjoint(new):
            twice = next(each for each, times in Counter(ids).items() if times > 1 or each in seen)
            raise StoreError(f"{its.place}: the id {twice!r} is there twice; leave one row for each id.")
        seen |= new
        yield Block(ids, its.vectors(batch), Rows(batch.select(list(its.rest))))


def batches(table: Any, its: Columns, names: list[str], block: int) -> Iterator[Any]:
    """Record batches of these columns, each of ``block`` rows but the last."""
    step = max(1, _AT_ONCE // (4 * its.dim * block)) * block
    for start in range(0, table.count_rows(), step):
        rows = table.search().select(names).limit(step).offset(start).to_arrow()
        yield from rows.combine_chunks().to_batches(max_chunksize=block)
