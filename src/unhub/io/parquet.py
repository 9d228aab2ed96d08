"""Parquet files, read one row group at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from unhub.foundation.optional import require
from unhub.io.address import Address
from unhub.io.arrow_table import StoredTable, element_dtype, is_vectors, storage_type, table_contents
from unhub.io.contents import Contents
from unhub.io.limits import check_loaded_whole


def read_parquet(address: Address) -> Contents:
    """The columns of the file; vectors are lists of equal length."""
    files = _Files(address)
    file = files.here()
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]

    def chunks_of(column: str, group: int) -> list[Any]:
        found = (groups[group].column(index) for index in range(groups[group].num_columns))
        return [each for each in found if each.path_in_schema.split(".")[0] == column]

    def check(column: str, group: int) -> None:
        """An error if the footer says that a row group becomes more than there is memory for."""
        width = _width(file.schema_arrow.field(column).type)
        sizes = [max(each.num_values * width, each.total_uncompressed_size) for each in chunks_of(column, group)]
        check_loaded_whole(address, column, sum(sizes), what="a single row group of it")

    def read(column: str, group: int) -> list[Any]:
        check(column, group)
        return list(files.here().read_row_group(group, columns=[column]).column(column).chunks)

    def head(column: str) -> Any:
        check(column, next(group for group, stored in enumerate(groups) if stored.num_rows))
        return next(files.here().iter_batches(batch_size=1, columns=[column])).column(column)

    def suspects(column: str, dim: int) -> Iterator[int]:
        """The row groups whose number of values is not rows x dim, as the footer counts them."""
        for group, stored in enumerate(groups):
            if sum(each.num_values for each in chunks_of(column, group)) != stored.num_rows * dim:
                yield group

    lengths = tuple(group.num_rows for group in groups)
    return table_contents(address, StoredTable(file.schema_arrow, lengths, read, head, suspects))


def _width(kind: Any) -> int:
    """Bytes of a single value of a column, at least one."""
    kind = storage_type(kind)
    return max(1, element_dtype(kind.value_type if is_vectors(kind) else kind).itemsize)


class _Files(threading.local):
    """One open file for each thread: two threads in the same one crash the interpreter."""

    opened: Any = None

    def __init__(self, address: Address) -> None:
        self._parquet = require("pyarrow.parquet", extra="files")
        self._address = address

    def here(self) -> Any:
        """This thread's file."""
        if self.opened is None:
            file = self._parquet.ParquetFile(self._address.path)
            text = [field.name for field in file.schema_arrow if element_dtype(field.type).kind == "U"]
            if text:  # as dictionaries: a text that is repeated is one text until it is known how long all are
                file = self._parquet.ParquetFile(self._address.path, read_dictionary=text)
            self.opened = file
        return self.opened
