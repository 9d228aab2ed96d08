"""MATLAB files: read whole by SciPy, except version 7.3, which is HDF5 with its axes reversed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unhub.foundation.types import AnyArray
from unhub.io.address import Address
from unhub.io.contents import Contents, Part
from unhub.io.hdf5 import Dataset, dataset_part, datasets
from unhub.io.matlab_tags import check_tags

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SIGNATURE_OFFSETS = (0, 512)  # MATLAB puts 512 bytes of its own before it
_CLASSES = {
    **{kind: np.dtype(kind) for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
    "double": np.dtype("f8"),
    "single": np.dtype("f4"),
    "logical": np.dtype("?"),
    "char": np.dtype("U"),
    "complex": np.dtype("c16"),
}
_NOT_READ = np.dtype("V")  # cells, structures, objects, sparse matrices: a damaged one can crash SciPy
_ID_NAMES = ("ids", "id")


class Transposed:
    """A matrix on disk whose columns are our rows; a block of rows is read as a block of columns."""

    def __init__(self, stored: Any) -> None:
        self._stored = stored
        self.shape = tuple(reversed(stored.shape))
        self.dtype: np.dtype[Any] = stored.dtype

    def __getitem__(self, rows: slice) -> AnyArray:
        return np.asarray(self._stored[:, rows]).T


def read_matlab(address: Address) -> Contents:
    """The variables of the file by name."""
    if _is_hdf5(address):
        return Contents({key: _hdf5_part(dataset) for key, dataset in datasets(address).items() if key[0] != "#"})
    import scipy.io

    with address.open() as file:
        complex_names = check_tags(file, address)
    listed = scipy.io.whosmat(str(address.path), appendmat=False)
    kinds = {key: (shape, "complex" if key in complex_names else kind) for key, shape, kind in listed}
    if len(kinds) < len(listed) or not complex_names <= kinds.keys():  # what is listed is not what would be loaded
        raise ValueError("it has two variables of one name")
    return Contents({key: _part(address, key, shape, kind) for key, (shape, kind) in kinds.items()})


def _is_hdf5(address: Address) -> bool:
    with address.open() as file:
        head = file.read(max(_SIGNATURE_OFFSETS) + len(_HDF5_SIGNATURE))
    return any(head.startswith(_HDF5_SIGNATURE, offset) for offset in _SIGNATURE_OFFSETS)


def _hdf5_part(dataset: Dataset) -> Part:
    part, kind = dataset_part(dataset), dataset.matlab_class
    if kind is None or len(part.shape) != 2:
        return part
    shape = (part.shape[1], part.shape[0])
    return Part(shape, _CLASSES.get(kind, _NOT_READ), lambda: Transposed(part.load()))


def _part(address: Address, key: str, shape: tuple[int, ...], kind: str) -> Part:
    dtype = _CLASSES.get(kind, _NOT_READ)
    if key in _ID_NAMES:  # MATLAB has no vectors, only matrices of one row or one column
        return Part((max(shape),), dtype, partial(_ids, address, key))
    return Part(shape, dtype, partial(_load, address, key))


def _load(address: Address, key: str) -> Any:
    import scipy.io

    return scipy.io.loadmat(str(address.path), variable_names=[key], appendmat=False)[key]


def _ids(address: Address, key: str) -> AnyArray:
    values = np.ravel(_load(address, key))
    return np.char.rstrip(values) if values.dtype.kind == "U" else values
