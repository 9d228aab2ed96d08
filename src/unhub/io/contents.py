"""What a file holds: named parts, listed before anything is read, and the choice of one of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.io.address import SEPARATOR, Address

NUMBERS = "fiu"
TEXT = "USTO"

_KINDS = {
    "b": "true/false values",
    "U": "text",
    "S": "text",
    "T": "text",
    "O": "Python objects",
    "c": "complex numbers",
    "V": "records",
    "M": "dates",
    "m": "times",
}


def check_matrix(subject: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """An error, beginning with ``subject``, unless this is a matrix of numbers with rows and columns."""
    check_numbers(subject, dtype)
    if len(shape) != 2:
        raise InputError(f"{subject} has shape {shape}, not two dimensions; give one row per item: (rows, columns).")
    if shape[0] == 0:
        raise InputError(f"{subject} has shape {shape}: there are no rows; give at least one.")
    if shape[1] == 0:
        raise InputError(f"{subject} has shape {shape}: the rows have dimension 0; give at least one column.")


def check_numbers(subject: str, dtype: np.dtype[Any]) -> None:
    """An error, beginning with ``subject``, unless these are real numbers."""
    if dtype.kind not in NUMBERS:
        held = _KINDS.get(dtype.kind, "values")
        raise InputError(f"{subject} holds {held} (dtype {dtype}), not numbers; convert them to float32.")


def numpy_floats(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same numbers in a type NumPy knows: bfloat16, which it does not, becomes float32."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


WHOLE = ""  # the key of a file that holds one array without a name
_LISTED = 10  # parts named in an error; the rest is counted


@dataclass(frozen=True)
class Part:
    """One array of a file: its shape and type are known, ``load`` reads it (lazily where the format can)."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    load: Callable[[], Any]


@dataclass(frozen=True)
class Contents:
    """All parts of a file by name.

    ``id_names`` are the names under which ids are looked for; ``probable_ids`` is a part that has no such
    name but is the only text in a table.
    """

    parts: Mapping[str, Part]
    id_names: tuple[str, ...] = ("ids", "id")
    probable_ids: str | None = None

    def ids_of(self, key: str) -> str | None:
        """The part that holds the ids of part ``key``, if any: ``<key>_ids``, or the usual names."""
        group = key[: key.rfind("/") + 1]
        for name in (f"{key}_ids", *(group + name for name in self.id_names), *self.id_names):
            if name != key and name in self.parts and self.could_be_ids(name):
                return name
        return None

    def could_be_ids(self, name: str) -> bool:
        """Whether a part is one column of text or numbers."""
        part = self.parts[name]
        return len(part.shape) == 1 and part.dtype.kind in NUMBERS + TEXT

    def matrices(self) -> list[str]:
        """The parts that are matrices of numbers."""
        return [key for key, part in self.parts.items() if len(part.shape) == 2 and part.dtype.kind in NUMBERS]


def choose(address: Address, contents: Contents, *, candidates: list[str], wanted: str) -> str:
    """The key of the part that was asked for, or of the only candidate; the error lists what there is."""
    parts = contents.parts
    if not parts:
        raise address.problem(f"holds no arrays; write {wanted} into it.")
    if address.key is not None:
        return _named(address, parts)
    if len(candidates) == 1 or len(parts) == 1:
        return (candidates or list(parts))[0]
    if candidates:
        listed = _listing({key: parts[key] for key in candidates})
        example = f"{address.path.name}{SEPARATOR}{candidates[0]}"
        raise address.problem(f"holds several {wanted}: {listed}; name one, for instance {example}.")
    raise address.problem(f"holds no {wanted}; it has: {_listing(parts)}.")


def _named(address: Address, parts: Mapping[str, Part]) -> str:
    key = (address.key or "").strip("/")
    if key in parts:
        return key
    if list(parts) == [WHOLE]:
        raise address.problem(f"holds one array and no part {address.key!r}; leave out '{SEPARATOR}{address.key}'.")
    close = difflib.get_close_matches(key, parts, n=1)
    advice = f"; did you mean {address.path.name}{SEPARATOR}{close[0]}?" if close else "."
    raise address.problem(f"has no part {address.key!r}; it has: {_listing(parts)}{advice}")


def _listing(parts: Mapping[str, Part]) -> str:
    named = [f"{key} {part.shape}" for key, part in list(parts.items())[:_LISTED]]
    rest = len(parts) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")
