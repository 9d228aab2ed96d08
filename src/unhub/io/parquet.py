"""Parquet files, read one row group at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from unhub.foundation.optional import require
from unhub.io.address import Address
from unhub.io.arrow_table import StoredTable, table_contents
from unhub.io.contents import Contents


def read_parquet(address: Address) -> Contents:
    """The columns of the file; vectors are lists of equal length."""
    files = _Files(address)
    file = files.here()
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]

    def read(column: str, group: int) -> list[Any]:
        return list(files.here().read_row_group(group, columns=[column]).column(column).chunks)

    def head(column: str) -> Any:
        return next(files.here().iter_batches(batch_size=1, columns=[column])).column(column)

    def suspects(column: str, dim: int) -> Iterator[int]:
        """The row groups whose number of values is not rows x dim, as the footer counts them."""
        for group, stored in enumerate(groups):
            counts = [stored.column(index) for index in range(stored.num_columns)]
            found = sum(count.num_values for count in counts if count.path_in_schema.split(".")[0] == column)
            if found != stored.num_rows * dim:
                yield group

    lengths = tuple(group.num_rows for group in groups)
    return table_contents(address, StoredTable(file.schema_arrow, lengths, read, head, suspects))


class _Files(threading.local):
    """One open file for each thread: two threads in the same one crash the interpreter."""

    opened: Any = None

    def __init__(self, address: Address) -> None:
        self._parquet = require("pyarrow.parquet", extra="files")
        self._address = address

    def here(self) -> Any:
        """This thread's file."""
        if self.opened is None:
            self.opened = self._parquet.ParquetFile(self._address.path)
        return self.opened
