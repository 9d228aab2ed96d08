"""Torch tensors as arrays, recognised by what they can do: torch itself is not imported."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray

_UNKNOWN_TO_NUMPY = "torch.bfloat16"


def is_tensor(value: object) -> bool:
    """Whether this is a torch tensor, or behaves like one."""
    return all(callable(getattr(value, method, None)) for method in ("detach", "cpu", "numpy"))


@dataclass(frozen=True, eq=False)
class TensorRows:
    """A matrix in a tensor, wherever it is: slices come as NumPy arrays, the tensor itself for those who can use it."""

    tensor: Any
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns)"""
        return tuple(self.tensor.shape)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """the type of the numbers that a slice comes in"""
        return self[:0].dtype

    @cached_property
    def array(self) -> AnyArray | None:
        """the same memory as a NumPy array, if it is in the processor's reach and NumPy knows its numbers"""
        near = self.tensor.device.type == "cpu" and str(self.tensor.dtype) != _UNKNOWN_TO_NUMPY
        return tensor_array(self.tensor, name=self.name) if near else None

    def __getitem__(self, rows: slice) -> AnyArray:
        return tensor_array(self.tensor[rows], name=self.name)


def tensor_array(tensor: Any, *, name: str) -> AnyArray:
    """The tensor's numbers on the CPU without its gradient; bfloat16 becomes float32."""
    if tensor.device.type == "meta":
        raise InputError(f"{name} is a tensor on the meta device, which has a shape but no numbers; load it first.")
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
