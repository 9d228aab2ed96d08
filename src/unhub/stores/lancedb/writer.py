"""Writing to a LanceDB table: few large commits, each whole or not at all, and no item twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unhub.foundation.optional import require
from unhub.stores.lancedb.columns import Columns
from unhub.stores.protocol import Block

_COMMIT = 32 << 20
"""bytes that are gathered before they are written: a commit for each 4096 items takes more than twice as long"""


class Writer:
    """Gathers items and commits them. What a killed process had gathered is missing, and nothing else is."""

    def __init__(self, table: Any, columns: Columns, known: Iterable[str]) -> None:
        self._table = table
        self._columns = columns
        self._known = set(known)
        """ids in the table: LanceDB would append an item that is there a second time"""
        self._gathered: list[Any] = []
        self._ids: set[str] = set()

    def put(self, block: Block) -> None:
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
