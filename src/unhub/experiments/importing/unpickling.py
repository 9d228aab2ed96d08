"""Pickles of arrays, read without running what they ask for.

A pickle is a list of orders: take this name from that module, call it. Here a name is looked up in a short table of our
own, which has plain containers and functions that make an array of its bytes. NumPy's own are not called: they believe
what a pickle says about its bytes. Any other name ends the reading.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from unhub.foundation.optional import require
from unhub.foundation.types import AnyArray
from unhub.io.address import Address
from unhub.io.damage import guarded

KINDS = "fiubUSO"
"""arrays that are made: of numbers, truth values, text, and of other things that the pickle holds"""

CONTAINERS = (bytearray, bytes, complex, dict, frozenset, list, set, tuple)


def unpickled(address: Address, file: BinaryIO) -> Any:
    """What the pickle holds: arrays, tensors, text and numbers, in lists and dictionaries."""
    with guarded(address, "a pickle"):
        return _plain(_Unpickler(file, address).load())


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO, address: Address) -> None:
        super().__init__(file, encoding="latin1")  # as NumPy wants the bytes of Python 2
        self._address = address
        self._admitted = _admitted()

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) not in self._admitted:
            raise self._address.problem(
                f"asks for {module}.{name}, which is neither an array nor a plain container and was not run; save the "
                f"array alone, with numpy.save."
            )
        return self._admitted[module, name]


def _admitted() -> dict[tuple[str, str], Any]:
    """What each name of a pickle means here; made anew for each file, so that none can change it for the next."""
    known: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("collections", "defaultdict"): defaultdict,
        ("_codecs", "encode"): lambda text, encoding: _bytes(text, encoding),
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Type,
        ("torch.storage", "_load_from_bytes"): lambda data: _storage(data),
        ("torch._utils", "_rebuild_tensor_v2"): _of_torch("_rebuild_tensor_v2"),
        ("torch._utils", "_rebuild_parameter"): _of_torch("_rebuild_parameter"),
    }
    for each in CONTAINERS:
        known |= {(module, each.__name__): each for module in ("builtins", "__builtin__")}
    for core in ("numpy.core", "numpy._core"):
        known[f"{core}.multiarray", "_reconstruct"] = lambda *_: _Array()
        known[f"{core}.multiarray", "scalar"] = lambda kind, data: _made(data, kind, (), "C")[()]
        known[f"{core}.numeric", "_frombuffer"] = lambda data, kind, shape, order: _made(data, kind, shape, order)
    return known


class _Type:
    """The type of an array to be: the code that comes first, and the order of bytes that comes with the state."""

    def __init__(self, code: str | bytes, *_: Any) -> None:
        self._code = code.decode("ascii") if isinstance(code, bytes) else code
        self._order = "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._order = state[1].decode("ascii") if isinstance(state[1], bytes) else state[1]

    def made(self) -> np.dtype[Any]:
        """The type, if it is one of plain values."""
        kind = np.dtype(self._code)
        if kind.kind not in KINDS:
            raise ValueError(f"it has an array of {kind}, which holds no plain values")
        return kind.newbyteorder(self._order)  # type: ignore[arg-type]  # NumPy refuses what is no order


class _Array:
    """An array to be: what NumPy is called with says nothing yet, all is in the state."""

    def __init__(self, *_: Any) -> None:
        self.array: AnyArray | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        shape, kind, fortran, data = state[-4:]
        self.array = _made(data, kind, shape, "F" if fortran else "C")


def _made(data: Any, type_: _Type, shape: tuple[int, ...], order: Any) -> AnyArray:
    kind = type_.made()
    if kind.kind == "O":
        if not isinstance(data, list):
            raise ValueError("it has an array of objects without objects")
        flat = np.empty(len(data), dtype=object)
        for at, each in enumerate(data):
            flat[at] = each
        return flat.reshape(shape, order=order)
    raw = data.encode("latin1") if isinstance(data, str) else data
    values = np.frombuffer(raw, kind) if len(raw) else np.empty(0, kind)
    return values.reshape(shape, order=order)


def _bytes(text: str, encoding: str) -> bytes:
    """Bytes, which old pickles write as text of this one encoding."""
    if encoding != "latin1":
        raise ValueError(f"it has text of the encoding {encoding!r}")
    return text.encode("latin1")


def _storage(data: bytes) -> Any:
    """The numbers of a tensor, by torch's own reader that admits nothing else."""
    return require("torch", extra="torch").load(io.BytesIO(data), map_location="cpu", weights_only=True)


def _of_torch(name: str) -> Callable[..., Any]:
    return lambda *given: getattr(require("torch._utils", extra="torch"), name)(*given)


def _plain(value: Any) -> Any:
    """The value with arrays for arrays to be, and lists for arrays of other things."""
    if isinstance(value, _Array):
        if value.array is None:
            raise ValueError("it has an array without values")
        value = value.array
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
