"""Torch's own files, ``.pt`` and ``.pth``: tensors only, never other pickled objects; read whole."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from unhub.foundation.optional import require
from unhub.io.address import Address
from unhub.io.contents import WHOLE, Contents, Part
from unhub.io.tensors import is_tensor, tensor_array
from unhub.io.torch_promises import check_tensors

OLDEST_TORCH = "2.10"
"""as in pyproject.toml"""
WHY = "torch.load of older ones can run code that is in a file, even with weights_only (CVE-2025-32434, CVE-2026-24747)"


def read_torch(address: Address) -> Contents:
    """The tensors of the file; those inside dictionaries and lists are named ``outer.inner``."""
    torch = require("torch", extra="torch", at_least=OLDEST_TORCH, why=WHY)
    try:
        with address.open() as file:
            check_tensors(address, file)
        value = torch.load(address.path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if not zipfile.is_zipfile(address.path):
            raise
        raise address.problem(
            "holds pickled Python objects other than tensors, which can run code when opened and are never "
            "read; save the tensor alone: torch.save(tensor, path)."
        ) from error
    return Contents(dict(_walk(value, WHOLE, address.name)))


def _walk(value: Any, key: str, name: str) -> Iterator[tuple[str, Part]]:
    if is_tensor(value):
        yield key, _part(tensor_array(value, name=f"{name} {key!r}" if key else name))
    elif isinstance(value, dict):
        for inner, item in value.items():
            yield from _walk(item, f"{key}.{inner}".lstrip("."), name)
    elif isinstance(value, list | tuple) and _is_column(value):
        yield key, _part(np.asarray(value))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _walk(item, f"{key}.{index}".lstrip("."), name)


def _is_column(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list holds plain text or whole numbers: ids, labels."""
    return bool(values) and (
        all(isinstance(item, str) for item in values) or all(isinstance(item, int) for item in values)
    )


def _part(array: np.ndarray[Any, Any]) -> Part:
    return Part(array.shape, array.dtype, lambda: array)
