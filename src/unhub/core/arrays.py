"""Array namespaces: the same formula on NumPy arrays and on torch tensors of any device.

torch is not imported here; an array brings its own library.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from unhub.foundation.types import AnyArray, FloatArray


def is_numpy(array: Any) -> bool:
    """Whether this is a NumPy array, memory maps included."""
    return isinstance(array, np.ndarray)


def is_tensor(array: Any) -> bool:
    """Whether this is a torch tensor, judged by its methods."""
    return not is_numpy(array) and all(callable(getattr(array, name, None)) for name in ("detach", "cpu", "numpy"))


def namespace(array: Any) -> ModuleType:
    """The functions for this array: numpy, or the array API of its library."""
    if is_numpy(array):
        return np
    from array_api_compat import array_namespace

    library: ModuleType = array_namespace(array)
    return library


def like(array: Any, other: Any, dtype: Any = None) -> Any:
    """The array in the library and on the device of another one."""
    if is_numpy(other):
        return host(array) if dtype is None else host(array).astype(dtype, copy=False)
    xp = namespace(other)
    return xp.asarray(array, device=other.device, dtype=dtype)


def host(array: Any) -> AnyArray:
    """The array as a NumPy array in the processor's memory; tensors lose their gradient."""
    if is_numpy(array):
        return np.asarray(array)
    return np.asarray(array.detach().cpu().numpy())


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    """The parts in one array of their library; a single part stays as it is."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts, axis) if is_numpy(parts[0]) else namespace(parts[0]).concat(parts, axis=axis)


def widen(x: Any) -> Any:
    """The array, or the number, in the type for sums."""
    if isinstance(x, np.ndarray | np.generic):
        return x.astype(np.float64, copy=False)
    return namespace(x).astype(x, wide(x), copy=False)


def wide(array: Any) -> Any:
    """The type for sums and potentials: float64, or float32 on devices without it."""
    xp = namespace(array)
    return xp.float32 if str(getattr(array, "device", "cpu")).startswith("mps") else xp.float64


def unit_rows(rows: AnyArray) -> FloatArray:
    """The rows at length one, float64; rows of zeros stay as they are."""
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: FloatArray = wide / np.where(lengths > 0, lengths, 1.0)
    return unit
