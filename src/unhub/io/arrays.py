"""Arrays in memory: NumPy, torch, memory maps, anything with ``__array__``, lists of lists."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sized
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray
from unhub.io.address import Address, numpy_floats
from unhub.io.file_array import FileArray, OpenFile

_UNKNOWN_TO_NUMPY = "torch.bfloat16"


def is_tensor(value: object) -> bool:
    """Whether this is a torch tensor, or behaves like one."""
    return all(callable(getattr(value, method, None)) for method in ("detach", "cpu", "numpy"))


@dataclass(frozen=True, eq=False)
class TensorRows:
    """A matrix in a tensor on any device: slices are NumPy arrays; ``tensor`` is there for code that can use it."""

    tensor: Any
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns)"""
        return tuple(self.tensor.shape)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """the type of the numbers in a slice"""
        return self[:0].dtype

    @cached_property
    def array(self) -> AnyArray | None:
        """the same memory as a NumPy array, if it is on the CPU and NumPy has its number type"""
        shared = self.tensor.device.type == "cpu" and str(self.tensor.dtype) != _UNKNOWN_TO_NUMPY
        return tensor_array(self.tensor, name=self.name) if shared else None

    def __getitem__(self, rows: slice) -> AnyArray:
        return tensor_array(self.tensor[rows], name=self.name)


def tensor_array(tensor: Any, *, name: str) -> AnyArray:
    """The tensor's numbers on the CPU without its gradient; bfloat16 becomes float32."""
    if tensor.device.type == "meta":
        raise InputError(name, "is a tensor on the meta device, which has a shape but no numbers", "load it first")
    try:
        tensor = tensor.detach().cpu()
        if str(tensor.dtype) == _UNKNOWN_TO_NUMPY:
            tensor = tensor.float()
        return np.asarray(tensor.numpy())
    except (TypeError, RuntimeError) as error:
        raise InputError(
            name,
            f"is a tensor of {tensor.dtype} ({tensor.layout}) that NumPy cannot hold",
            "pass a dense tensor of real numbers, for instance tensor.to_dense().float()",
        ) from error


_MAPS = Path("/proc/self/maps")


def file_behind_map(array: AnyArray, *, name: str) -> FileArray | None:
    """The array in the file behind a memory map; None if it is no map or its offset in the file is unknown.

    The offset is known for contiguous read-only maps, on Linux, while the mapped file is still the one at its path.
    Writable maps are used as they are.
    """
    root = _root(array)
    if root is None or not array.nbytes or not (array.flags.c_contiguous or array.flags.f_contiguous):
        return None
    mapped: Any = root._mmap  # type: ignore[attr-defined]  # NumPy has no public name for it
    first = np.frombuffer(mapped, np.uint8).__array_interface__["data"][0]
    offset = root.offset - root.offset % mmap.ALLOCATIONGRANULARITY + array.__array_interface__["data"][0] - first
    try:
        opened = OpenFile(Address(name, Path(root.filename)))  # type: ignore[arg-type]  # _root has checked
    except (OSError, InputError):
        return None
    whole = opened.stamp.size >= offset + array.nbytes
    if not whole or _mapped_file(first) != (opened.stamp.inode, os.path.realpath(opened.address.path)):
        return None
    return FileArray(opened, offset, array.shape, array.dtype, fortran=not array.flags.c_contiguous)


def _root(array: AnyArray) -> np.memmap[Any, Any] | None:
    """The read-only memory map of a named file that the array is a view of, if it is one."""
    each: Any = array
    while isinstance(each, np.ndarray):
        if isinstance(each, np.memmap) and isinstance(each._mmap, mmap.mmap):  # type: ignore[attr-defined]
            return each if each.mode == "r" and each.filename is not None else None
        each = each.base
    return None


def _mapped_file(address: int) -> tuple[int, str] | None:
    """The inode and the path of the file that is mapped at an address of this process; None if the system does not say.

    The path is where the file is now, followed by " (deleted)" if it was removed. The device is ignored: on btrfs and
    overlayfs it differs from what ``os.stat`` says.
    """
    try:
        lines = _MAPS.read_bytes().decode(errors="surrogateescape").split("\n")
    except OSError:
        return None
    for line in filter(None, lines):
        span, _, _, _, inode, *path = line.split(maxsplit=5)
        low, high = (int(end, 16) for end in span.split("-"))
        if low <= address < high:
            return int(inode), path[0].replace("\\012", "\n") if path else ""
    return None


def as_sliceable(source: object, *, name: str) -> Any:
    """The source itself if it can be sliced as it is (an open dataset, a tensor), otherwise a NumPy array of it."""
    if is_tensor(source) and str(getattr(source, "layout", "")) == "torch.strided" and source.ndim > 0:  # type: ignore[attr-defined]
        rows = TensorRows(source.detach(), name)  # type: ignore[attr-defined]  # tensors have it
        return rows if rows.dtype.kind in "fiu" else rows[:]
    if isinstance(source, np.ndarray) and type(source) in (np.ndarray, np.memmap):
        mapped = file_behind_map(source, name=name)
        return as_array(source, name=name) if mapped is None else mapped
    if isinstance(source, np.ndarray) or is_tensor(source) or not _is_dataset(source):
        return as_array(source, name=name)
    return source


def as_array(source: object, *, name: str) -> AnyArray:
    """The source as a NumPy array, without a copy where possible."""
    if isinstance(source, np.ma.MaskedArray):
        raise InputError(name, "is a masked array", "fill the masked values first, with its filled(value)")
    if type(source) in (np.ndarray, np.memmap):
        return numpy_floats(source)  # type: ignore[arg-type]  # checked above
    if is_tensor(source):
        return tensor_array(source, name=name)
    try:
        array = np.asarray(source)
    except Exception as error:  # __array__ is third-party code
        raise InputError(name, f"cannot be read as an array: {_why(source, error)}") from error
    if array.ndim == 0:
        kind = "None" if source is None else f"of type {type(source).__name__}"
        if hasattr(source, "toarray"):
            kind = f"a sparse matrix ({type(source).__name__}; use its toarray())"
        raise InputError(name, f"is {kind}, not an array", "give an array, a tensor, lists of numbers or a path")
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
