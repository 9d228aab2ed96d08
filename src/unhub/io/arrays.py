"""Things in memory as arrays: NumPy, torch, anything with ``__array__``, lists of lists."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray
from unhub.io.memory_maps import unmapped
from unhub.io.numbers import numpy_floats
from unhub.io.tensors import TensorRows, is_tensor, tensor_array


def as_sliceable(source: object, *, name: str) -> Any:
    """The source itself if it can be sliced as it is (an open dataset, a tensor), otherwise a NumPy array of it."""
    if is_tensor(source) and str(getattr(source, "layout", "")) == "torch.strided" and source.ndim > 0:  # type: ignore[attr-defined]
        rows = TensorRows(source.detach(), name)  # type: ignore[attr-defined]  # tensors have it
        return rows if rows.dtype.kind in "fiu" else rows[:]
    if isinstance(source, np.ndarray) and type(source) in (np.ndarray, np.memmap):
        mapped = unmapped(source, name=name)
        return as_array(source, name=name) if mapped is None else mapped
    if isinstance(source, np.ndarray) or is_tensor(source) or not _is_dataset(source):
        return as_array(source, name=name)
    return source


def as_array(source: object, *, name: str) -> AnyArray:
    """The source as a NumPy array, without a copy where there need be none."""
    if isinstance(source, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array; fill the masked values first: {name}.filled(value).")
    if type(source) in (np.ndarray, np.memmap):
        return numpy_floats(source)  # type: ignore[arg-type]  # just seen to be one of these
    if is_tensor(source):
        return tensor_array(source, name=name)
    try:
        array = np.asarray(source)
    except Exception as error:  # __array__ is somebody else's code
        raise InputError(f"{name} cannot be read as an array: {_why(source, error)}.") from error
    if array.ndim == 0:
        raise InputError(
            f"{name} is {_described(source)}, not an array; give an array, a tensor, lists of numbers or a path."
        )
    return numpy_floats(array)


def _is_dataset(source: object) -> bool:
    """Whether this has a shape and a NumPy type and can be sliced: an HDF5 dataset, a zarr array."""
    return (
        isinstance(getattr(source, "shape", None), tuple)
        and isinstance(getattr(source, "dtype", None), np.dtype)
        and hasattr(source, "__getitem__")
        and not hasattr(source, "toarray")  # a sparse matrix, whose blocks are no arrays
    )


def _why(source: object, error: Exception) -> str:
    if isinstance(source, list | tuple):
        lengths = [len(row) if isinstance(row, Sized) and not isinstance(row, str) else None for row in source]
        other = next((row for row, length in enumerate(lengths) if length != lengths[0]), None)
        if other is not None and lengths[0] is not None and lengths[other] is not None:
            return f"row {other} has {lengths[other]} numbers and row 0 has {lengths[0]} (rows count from 0)"
    return str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__


def _described(source: object) -> str:
    if source is None:
        return "None"
    if hasattr(source, "toarray"):
        return f"a sparse matrix ({type(source).__name__}; use its toarray())"
    return f"a {type(source).__name__}"
