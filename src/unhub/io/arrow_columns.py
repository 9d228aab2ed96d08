"""Columns of an Arrow table: lists of equal length are vectors, plain columns are ids or labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.foundation.optional import require
from unhub.foundation.types import AnyArray
from unhub.io.address import Address

_DTYPES = {
    **{name: name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")},
    "halffloat": "f2",
    "float": "f4",
    "double": "f8",
    "string": "U",
    "large_string": "U",
}


def storage_type(kind: Any) -> Any:
    """The plain type of a column: what an extension type stores, the values behind a dictionary."""
    pa = require("pyarrow", extra="files")
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_vectors(kind: Any) -> bool:
    """Whether the values of a column are lists."""
    types = require("pyarrow", extra="files").types
    return bool(types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind))


def element_dtype(kind: Any) -> np.dtype[Any]:
    """The NumPy type of a column's single values; what NumPy has no type for is a record ("V")."""
    return np.dtype(_DTYPES.get(str(kind), "V"))


def expanded_bytes(array: Any) -> int:
    """Bytes of the values of an array, where a value that a dictionary holds once counts as often as it is used."""
    pa = require("pyarrow", extra="files")
    if not pa.types.is_dictionary(array.type):
        return int(array.nbytes)
    words = array.dictionary
    if element_dtype(words.type).kind != "U":
        return int(array.nbytes) + len(array) * int(words.nbytes // max(1, len(words)))
    lengths = np.asarray(require("pyarrow.compute", extra="files").binary_length(words).fill_null(0), dtype=np.int64)
    used = np.asarray(array.indices.drop_null(), dtype=np.int64)
    return int(lengths[used].sum())


def plain_values(array: Any) -> list[Any]:
    """The values as Python has them; those of a dictionary are looked up in it."""
    pa = require("pyarrow", extra="files")
    decoded = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    values: list[Any] = decoded.to_pylist()
    return values


def vectors(address: Address, column: str, array: Any, *, dim: int, first_row: int) -> AnyArray:
    """One chunk of a vector column as (rows, dim); an error names the first row that does not fit."""
    pa = require("pyarrow", extra="files")
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    if array.null_count:
        row = first_row + int(np.argmax(np.asarray(array.is_null())))
        raise address.problem(f"has no vector in row {row} of column {column!r} (rows count from 0); fill or drop it.")
    if not pa.types.is_fixed_size_list(array.type):
        check_lengths(address, column, np.asarray(array.value_lengths()), dim=dim, first_row=first_row)
    values = array.flatten()
    if values.null_count:
        row = first_row + int(np.argmax(np.asarray(values.is_null()))) // dim
        raise address.problem(
            f"has a missing number in row {row} of column {column!r} (rows count from 0); fill or drop it."
        )
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(array), dim)


def check_lengths(address: Address, column: str, lengths: AnyArray, *, dim: int, first_row: int) -> None:
    """An error that names the first vector whose length is not ``dim``."""
    wrong = np.flatnonzero(lengths != dim)
    if wrong.size:
        raise address.problem(
            f"has vectors of different lengths in column {column!r}: row {first_row + int(wrong[0])} has "
            f"{int(lengths[wrong[0]])} numbers, row 0 has {dim} (rows count from 0); make all equally long."
        )
