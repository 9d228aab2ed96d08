"""HDF5 files: every dataset is a part, read in blocks when it is sliced."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unhub.foundation.optional import require
from unhub.io.address import Address
from unhub.io.contents import Contents, Part


def read_hdf5(address: Address) -> Contents:
    """The datasets of the file by their path inside it; the file stays open while one of them is in use."""
    return Contents({key: dataset_part(dataset) for key, dataset in datasets(address).items()})


def datasets(address: Address) -> dict[str, Any]:
    """The open datasets of the file by their path inside it."""
    h5py = require("h5py", extra="files")
    found: dict[str, Any] = {}

    def visit(key: str | bytes, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            found[key if isinstance(key, str) else key.decode(errors="replace")] = item  # bytes: a damaged name

    h5py.File(address.path, "r").visititems(visit)
    return found


def dataset_part(dataset: Any) -> Part:
    """A dataset as a part; text is loaded as text, numbers stay on disk."""
    h5py = require("h5py", extra="files")
    shape = dataset.shape or ()
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return Part(shape, np.dtype("U"), partial(_text, dataset))
    return Part(shape, dataset.dtype, lambda: dataset)


def _text(dataset: Any) -> np.ndarray[Any, Any]:
    return np.asarray(dataset.asstr()[()], dtype=object)
