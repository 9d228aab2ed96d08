"""A cache bounded in bytes: what was used least recently goes first."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from unhub.executors import default_memory

T = TypeVar("T")
MOST_BYTES = 256 << 20
"""of one cache: about a hundred rankings of 5,000 queries, more than anybody goes back to"""
SHARE = 8
"""part of the memory that a cache may take at most, so that a small machine keeps less"""
ENTRY = 200
"""bytes that an entry costs besides what it holds: its key and its place"""


def affordable() -> int:
    """Bytes that one cache may hold on this machine."""
    return min(MOST_BYTES, default_memory() // SHARE)


class ByteCache(Generic[T]):
    """Values by key, in so many bytes; safe from any thread. The newest value stays even if it alone is larger."""

    def __init__(self, most: int | None = None) -> None:
        self.most = affordable() if most is None else most
        self.held = 0
        """bytes that are held now"""
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> T | None:
        """What is held under the key, if anything."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: T) -> None:
        """Holds the value; the least recently used ones make room."""
        size = ENTRY + bytes_of(value)
        with self._lock:
            if key in self._values:
                self.held -= self._values.pop(key)[1]
            self._values[key] = value, size
            self.held += size
            while self.held > self.most and len(self._values) > 1:
                self.held -= self._values.popitem(last=False)[1][1]


def bytes_of(value: Any) -> int:
    """Bytes of the arrays, texts and numbers that a value of dataclasses and containers holds, each counted once.

    >>> bytes_of((np.zeros(4), b"four"))
    36
    """
    return _bytes_of(value, set())


def _bytes_of(value: Any, seen: set[int]) -> int:
    if isinstance(value, np.ndarray):
        whole = value if value.base is None else value.base  # a part keeps the whole alive
        value = whole if isinstance(whole, np.ndarray) else value
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, bytes | str):
        return len(value)
    if isinstance(value, int | float):
        return 32  # an object of its own, and a list's pointer to it
    if isinstance(value, Mapping):
        return sum(_bytes_of(each, seen) for pair in value.items() for each in pair)
    if isinstance(value, tuple | list):
        return sum(_bytes_of(each, seen) for each in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return sum(_bytes_of(getattr(value, each.name), seen) for each in dataclasses.fields(value))
    return 0
