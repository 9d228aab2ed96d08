"""Pickles of arrays, read without running what they ask for.

A pickle is a list of opcodes: take this name from that module, call it. Here a name is looked up in a short table of
our own, which has plain containers and functions that record what an array is made of. No array is made before the last
opcode has run, because an opcode could write into it; and NumPy's own functions are not called, because they believe
what a pickle says about its bytes. Any other name ends the reading.
"""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Callable, Sized
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, ClassVar

import numpy as np

from unhub.foundation.optional import require
from unhub.io.address import Address
from unhub.io.limits import check_opcodes
from unhub.io.torch_file import AttributelessDict, check_tensors

KINDS = "fiubUSO"
"""kinds of array that are made: numbers, truth values, text, and other values that the pickle holds"""

CONTAINERS = (bytearray, bytes, complex, dict, frozenset, list, set, tuple)
MOST = 50_000_000
"""values that containers may hold, each counted as often as it is named: a short pickle can name one very often"""

VALUE_BYTES = 64  # bytes that a value in a container takes at most
LONGEST_KEY = 1000  # values that a key of a dictionary, or a member of a set, may have in its tuples
COPIES, FREE_COPIES = 64, 1 << 28
"""bytes that calls may copy, per byte of the file and for any file: a short pickle can ask for many copies"""


def read_pickle(address: Address, file: BinaryIO) -> Any:
    """The arrays, tensors, texts and numbers of the pickle, in lists and dictionaries."""
    with address.reading("a pickle"):
        check_opcodes(file)
        budget = _Budget(COPIES * address.size + FREE_COPIES)
        return _PlainValues(budget).of(_Unpickler(file, address, budget).load())


@dataclass
class _Budget:
    """Bytes that the calls of a pickle may still copy."""

    left: int

    def take(self, size: int) -> None:
        """A ``ValueError`` once all are taken."""
        self.left -= size
        if self.left < 0:
            raise ValueError("it asks for more copies of its values than a file of its size should")


_PythonUnpickler: Any = pickle._Unpickler  # the one whose opcodes can be replaced


class _Unpickler(_PythonUnpickler):  # type: ignore[misc]  # has no types
    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = dict(_PythonUnpickler.dispatch)

    def __init__(self, file: BinaryIO, address: Address, budget: _Budget) -> None:
        super().__init__(file, encoding="latin1")  # as NumPy wants the bytes of Python 2
        self._address = address
        self._allowed = _allowed(address, budget)

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) not in self._allowed:
            raise self._address.problem(
                f"asks for {module}.{name}, which is neither an array nor a plain container and was not run; save the "
                f"array alone, with numpy.save."
            )
        return self._allowed[module, name]


def _checked(opcode: str, keys: slice) -> Callable[[Any], None]:
    """The opcode of that name, run once the keys among the values on the stack were checked."""
    run = getattr(_PythonUnpickler, f"load_{opcode}")

    def checked(unpickler: Any) -> None:
        for key in unpickler.stack[keys]:
            _check_key(key)
        run(unpickler)

    return checked


_Unpickler.dispatch |= {
    pickle.SETITEM[0]: _checked("setitem", slice(-2, -1)),
    pickle.SETITEMS[0]: _checked("setitems", slice(None, None, 2)),
    pickle.DICT[0]: _checked("dict", slice(None, None, 2)),
    pickle.ADDITEMS[0]: _checked("additems", slice(None)),
    pickle.FROZENSET[0]: _checked("frozenset", slice(None)),
}


def _check_key(key: Any) -> None:
    """A ``ValueError`` for a key of tuples in tuples: a short pickle can make one that takes forever to hash."""
    parts = [key] if isinstance(key, tuple) else []
    count = 0
    while parts:
        part = parts.pop()
        count += len(part)
        if count > LONGEST_KEY:
            raise ValueError(f"it has a key of more than {LONGEST_KEY:,} values")
        parts += [each for each in part if isinstance(each, tuple)]


def _allowed(address: Address, budget: _Budget) -> dict[tuple[str, str], Any]:
    """What each name of a pickle means here; made for each file, so that none can change it for the next.

    All are functions: an opcode could change a class, or make many objects of it that each copy the first one's data.
    """
    known: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): lambda *args: AttributelessDict(_container(dict, budget, *args)),
        ("collections", "defaultdict"): lambda _=None, *args: AttributelessDict(_container(dict, budget, *args)),
        ("_codecs", "encode"): lambda text, encoding: _bytes(text, encoding, budget),
        ("numpy", "ndarray"): lambda *_: _Array(),
        ("numpy", "dtype"): lambda *args: _Type(*args),
        ("torch.storage", "_load_from_bytes"): lambda data: _storage(address, data, budget),
        ("torch._utils", "_rebuild_tensor_v2"): lambda *args: _tensor(args, budget),
        ("torch._utils", "_rebuild_parameter"): _of_torch("_rebuild_parameter"),
    }
    for each in CONTAINERS:
        make = partial(_container, each, budget)
        known |= {(module, each.__name__): make for module in ("builtins", "__builtin__")}
    for core in ("numpy.core", "numpy._core"):
        known[f"{core}.multiarray", "_reconstruct"] = lambda *_: _Array()
        known[f"{core}.multiarray", "scalar"] = lambda kind, data: _Array((data, kind, (), "C"))
        known[f"{core}.numeric", "_frombuffer"] = lambda data, kind, shape, order: _Array((data, kind, shape, order))
    return known


def _container(kind: Callable[..., Any], budget: _Budget, *args: Any) -> Any:
    """The container of its values, never of a length alone: bytes(10**12) would be a terabyte."""
    if kind in (bytes, bytearray) and args and not isinstance(args[0], bytes | bytearray | str | list | tuple):
        raise ValueError(f"it asks for {kind.__name__} of {type(args[0]).__name__}")
    for each in args:
        if isinstance(each, Sized):
            budget.take(len(each) if isinstance(each, bytes | bytearray | str) else VALUE_BYTES * len(each))
    if kind in (dict, set, frozenset) and args and not isinstance(args[0], dict | set | frozenset):
        for member in args[0]:
            _check_key(member[0] if kind is dict and isinstance(member, tuple | list) and member else member)
    return kind(*args)


class _Type:
    """The type of a future array: the code comes first, and the byte order with the state."""

    def __init__(self, code: str | bytes, *_: Any) -> None:
        self._code = code.decode("ascii") if isinstance(code, bytes) else code
        self._order = "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._order = state[1].decode("ascii") if isinstance(state[1], bytes) else state[1]

    def dtype(self) -> np.dtype[Any]:
        """The type, if it is one of plain values."""
        kind = np.dtype(self._code)
        if kind.kind not in KINDS:
            raise ValueError(f"it has an array of {kind}, which holds no plain values")
        return kind.newbyteorder(self._order)  # type: ignore[arg-type]  # NumPy refuses what is no byte order


class _Array:
    """A future array: its bytes or objects, their type, its shape, and the order of its entries."""

    def __init__(self, parts: tuple[Any, Any, Any, Any] | None = None) -> None:
        self.parts = parts

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        shape, kind, fortran, data = state[-4:]
        self.parts = data, kind, shape, "F" if fortran else "C"


def _array_of(data: Any, kind: np.dtype[Any], shape: Any, order: Any, budget: _Budget) -> Any:
    """The array, of bytes that it owns; a number or a text where it has no shape."""
    if isinstance(data, str | bytearray):
        budget.take(len(data))
    if isinstance(data, str):
        data = data.encode("latin1")
    if not isinstance(data, bytes | bytearray):
        raise ValueError(f"it has an array whose bytes are of the type {type(data).__name__}")
    values = np.frombuffer(bytes(data), kind) if len(data) else np.empty(0, kind)
    return values.reshape(shape, order=order)[()]


def _bytes(text: str, encoding: str, budget: _Budget) -> bytes:
    """Bytes, which old pickles write as text in this one encoding."""
    budget.take(len(text))
    if encoding != "latin1":
        raise ValueError(f"it has text of the encoding {encoding!r}")
    return text.encode("latin1")


def _storage(address: Address, data: bytes, budget: _Budget) -> Any:
    """The numbers of a tensor, by torch's own reader, which allows nothing else."""
    budget.take(len(data))
    check_tensors(address, io.BytesIO(data))
    return require("torch", extra="torch").load(io.BytesIO(data), map_location="cpu", weights_only=True)


def _tensor(args: tuple[Any, ...], budget: _Budget) -> Any:
    """A tensor of a storage, which may repeat the same number very often."""
    storage, _, shape = args[:3]
    if not all(type(length) is int for length in shape):
        raise ValueError("it has a tensor whose shape is not whole numbers")
    budget.take(math.prod(shape) * int(storage.dtype.itemsize))
    return _of_torch("_rebuild_tensor_v2")(*args)


def _of_torch(name: str) -> Callable[..., Any]:
    return lambda *args: getattr(require("torch._utils", extra="torch"), name)(*args)


class _PlainValues:
    """Values with their arrays made, and lists for arrays of objects; what is named twice is made once."""

    def __init__(self, budget: _Budget) -> None:
        self._budget = budget
        self._results: dict[int, tuple[Any, int]] = {}  # by id: the plain value, and how many values it counts
        self._in_progress: set[int] = set()

    def of(self, value: Any) -> Any:
        """The plain value."""
        return self._of(value)[0]

    def _of(self, value: Any) -> tuple[Any, int]:
        if not isinstance(value, _Array | dict | list | tuple | set | frozenset):
            if callable(value) or isinstance(value, _Type):
                raise ValueError("it holds something that is no value")
            return value, 1
        if id(value) in self._in_progress:
            raise ValueError("it holds something that holds itself")
        if id(value) not in self._results:
            self._in_progress.add(id(value))
            result = self._convert(value)
            if result[1] > MOST:
                raise ValueError(f"it holds more than {MOST:,} values outside arrays")
            self._results[id(value)] = result
            self._in_progress.discard(id(value))
        return self._results[id(value)]

    def _convert(self, value: Any) -> tuple[Any, int]:
        if isinstance(value, _Array):
            return self._array(value)
        if isinstance(value, dict):
            items = {self._key(key): self._of(each) for key, each in value.items()}
            return {key: each for key, (each, _) in items.items()}, 1 + sum(count for _, count in items.values())
        parts = [self._of(each) for each in value]
        return [each for each, _ in parts], 1 + sum(count for _, count in parts)

    def _key(self, key: Any) -> Any:
        """A key of a dictionary, which NumPy's numbers and texts can be too."""
        plain = self.of(key) if isinstance(key, _Array) else key
        if isinstance(plain, np.ndarray | list):
            raise ValueError("it has a dictionary whose keys are arrays")
        return plain

    def _array(self, value: _Array) -> tuple[Any, int]:
        if value.parts is None:
            raise ValueError("it has an array without values")
        data, type_, shape, order = value.parts
        if not isinstance(type_, _Type):
            raise ValueError("it has an array without a type")
        kind = type_.dtype()
        if kind.kind != "O":
            return _array_of(data, kind, shape, order, self._budget), 1
        if not isinstance(data, list):
            raise ValueError("it has an array of objects without objects")
        parts = [self._of(each) for each in data]
        flat = np.empty(len(parts), dtype=object)
        for at, (each, _) in enumerate(parts):
            flat[at] = each
        return flat.reshape(shape, order=order).tolist(), 1 + sum(count for _, count in parts)
