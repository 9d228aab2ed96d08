"""Array namespaces: the same formula on NumPy arrays and on torch tensors, wherever those live.

torch is never imported here; an array brings its own library with it.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from unhub.foundation.types import AnyArray, FloatArray


def is_numpy(array: Any) -> bool:
    """Whether this is a NumPy array, memory maps included."""
    return isinstance(array, np.ndarray)


def is_tensor(array: Any) -> bool:
    """Whether this is a torch tensor, told by what it can do."""
    return not is_numpy(array) and all(callable(getattr(array, name, None)) for name in ("detach", "cpu", "numpy"))


def namespace(array: Any) -> ModuleType:
    """The functions for this array: numpy, or the array API's view of its own library."""
    if is_numpy(array):
        return np
    from array_api_compat import array_namespace

    found: ModuleType = array_namespace(array)
    return found


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


def free_memory(array: Any) -> int | None:
    """Bytes that are free on the array's device; None for the processor's own memory."""
    if is_numpy(array) or array.device.type != "cuda":
        return None
    import torch

    return int(torch.cuda.mem_get_info(array.device)[0])


def wide(array: Any) -> Any:
    """The type for sums and potentials beside this array: float64, or float32 on devices that know no other."""
    xp = namespace(array)
    return xp.float32 if str(getattr(array, "device", "cpu")).startswith("mps") else xp.float64


def unit_rows(rows: AnyArray) -> FloatArray:
    """The rows at length one, float64; rows of zeros stay as they are."""
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: FloatArray = wide / np.where(lengths > 0, lengths, 1.0)
    return unit
