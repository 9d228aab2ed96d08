"""Parquet files, read one row group at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unhub.foundation.optional import require
from unhub.io.address import Address
from unhub.io.arrow_table import StoredTable, table_contents
from unhub.io.contents import Contents


def read_parquet(address: Address) -> Contents:
    """The columns of the file; vectors are lists of equal length."""
    parquet = require("pyarrow.parquet", extra="files")
    file = parquet.ParquetFile(address.path)
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]

    def read(column: str, group: int) -> list[Any]:
        return list(file.read_row_group(group, columns=[column]).column(column).chunks)

    def head(column: str) -> Any:
        return next(file.iter_batches(batch_size=1, columns=[column])).column(column)

    def suspects(column: str, dim: int) -> Iterator[int]:
        """The row groups whose number of values is not rows x dim, as the footer counts them."""
        for group, stored in enumerate(groups):
            counts = [stored.column(index) for index in range(stored.num_columns)]
            found = sum(count.num_values for count in counts if count.path_in_schema.split(".")[0] == column)
            if found != stored.num_rows * dim:
                yield group

    lengths = tuple(group.num_rows for group in groups)
    return table_contents(address, StoredTable(file.schema_arrow, lengths, read, head, suspects))
