"""Torch tensors as arrays, recognised by what they can do: torch itself is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray

_UNKNOWN_TO_NUMPY = "torch.bfloat16"


def is_tensor(value: object) -> bool:
    """Whether this is a torch tensor, or behaves like one."""
    return all(callable(getattr(value, method, None)) for method in ("detach", "cpu", "numpy"))


def tensor_array(tensor: Any, *, name: str) -> AnyArray:
    """The tensor's numbers on the CPU without its gradient; bfloat16 becomes float32."""
    try:
        tensor = tensor.detach().cpu()
        if str(tensor.dtype) == _UNKNOWN_TO_NUMPY:
            tensor = tensor.float()
        return np.asarray(tensor.numpy())
    except (TypeError, RuntimeError) as error:
        raise InputError(
            f"{name} is a tensor of {tensor.dtype} ({tensor.layout}) that NumPy cannot hold; "
            "pass a dense tensor of real numbers, for instance tensor.to_dense().float()."
        ) from error
