"""Files as authors publish them: their paths, and how each is opened; pickles only if they are trusted."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray
from unhub.foundation.wording import argument, setting
from unhub.io.address import (
    NUMBERS,
    PICKLES,
    SEPARATOR,
    WHOLE,
    Address,
    Contents,
    Part,
    check_numbers,
    choose,
    find,
    numpy_floats,
)  # fmt: skip
from unhub.io.arrays import is_tensor, tensor_array
from unhub.io.file_array import FileArray
from unhub.io.formats import FORMATS, read_contents
from unhub.io.ids import TEXTS, read_ids
from unhub.io.npy import npy_contents, open_npy
from unhub.io.pickles import read_pickle
from unhub.io.text import read_json, read_lines

SIMS = "sims"
"""what a matrix is called in dumps that hold more than it"""

AUTO = "auto"
BANK_NAME = re.compile(r"[A-Za-z0-9_-]+")
_DIMENSIONS = {1: "one", 2: "two", 3: "three"}


@dataclass(frozen=True)
class Dump:
    """Published files, by path; scores, or queries and targets, are the test set.

    scores: a matrix (query, target), or (target, its queries, target) padded with -inf; with ``transpose`` all matrices
    are the other way round. queries, targets: embeddings. banks: for each name its queries and perhaps targets, or one
    or three matrices, see ``bank_scores``. masks: 0 for a query that there is not. relevant: the target of each query,
    counted from ``first``, which is found out where it can be. captions: one for each query, or those of each target by
    its id in ``target_ids``. scale: what scores are divided by. trust: whether pickles are opened.
    """

    scores: str | None = None
    queries: str | None = None
    targets: str | None = None
    banks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    masks: str | None = None
    relevant: str | None = None
    first: int | None = None
    captions: str | None = None
    target_ids: str | None = None
    transpose: bool = False
    scale: str | float = AUTO
    trust: bool = False

    def __post_init__(self) -> None:
        if self.scores is None and (self.queries is None or self.targets is None):
            raise InputError(
                f"a test set is missing; give {argument('scores')}, a matrix, or {argument('queries')} and "
                f"{argument('targets')}, embeddings."
            )
        if self.scores is not None and (self.queries is not None or self.targets is not None):
            raise InputError("scores", f"and {argument('queries')} are two test sets", "give one of them")
        if self.scores is None and (self.transpose or self.scale != AUTO):
            name = "transpose" if self.transpose else "scale"
            raise InputError(name, "is for scores", "leave it out where there are embeddings")
        if self.first not in (None, 0, 1):
            raise InputError("first", f"is {self.first}", "targets are counted from 0 or from 1")
        if self.first is not None and self.relevant is None:
            raise InputError(
                "first", f"says where the numbers in {argument('relevant')} start", "give that file, or leave it out"
            )
        for name in self.banks:
            if not BANK_NAME.fullmatch(name):
                raise InputError(f"bank {name!r} is no name for a bank; use letters, digits, - and _.")
        if self.scale != AUTO:
            self._refuse_scale()

    def _refuse_scale(self) -> None:
        try:
            divisor = float(self.scale)
        except ValueError:
            divisor = math.nan
        if not (math.isfinite(divisor) and divisor > 0):
            advice = "give auto, or a positive number that scores are divided by, such as 100"
            raise InputError("scale", f"is {self.scale!r}", advice)


@dataclass(frozen=True, eq=False)
class SourceArray:
    """An array of a file: the argument it is for, where it is, and the numbers, left in the file if possible."""

    name: str
    place: str
    array: AnyArray | FileArray

    def problem(self, text: str) -> InputError:
        """The error whose sentence begins with the argument and the file."""
        return InputError(f"{argument(self.name)}: {self.place} {text}")


@dataclass(frozen=True)
class Opener:
    """Opens files; pickles only if their source is trusted."""

    trust: bool = False

    def array(self, source: str, name: str, *, dims: tuple[int, ...] = (2,), kinds: str = NUMBERS) -> SourceArray:
        """The array with so many dimensions that is named, called sims, or the only one."""
        address = find(source, name=name)
        contents, label = self._contents(address)
        fitting = [key for key, part in contents.parts.items() if len(part.shape) in dims and part.dtype.kind in kinds]
        key = choose(address, contents, candidates=[SIMS] if SIMS in fitting else fitting, wanted="arrays of numbers")
        with address.reading(label):
            array = _lazy(contents.parts[key].load())
        file = SourceArray(name, f"{address.path}{SEPARATOR}{key}" if key != WHOLE else str(address.path), array)
        if array.dtype.kind not in kinds:
            check_numbers(f"{argument(name)}: {file.place}", array.dtype)
        if array.ndim not in dims or 0 in array.shape:
            wanted = " or ".join(_DIMENSIONS[each] for each in dims)
            raise file.problem(f"has shape {array.shape}; give an array of {wanted} dimensions that is not empty.")
        return file

    def column(self, source: str, name: str) -> AnyArray:
        """One value for each item, numbers or text."""
        address = find(source, name=name)
        if address.path.suffix.lower() in TEXTS:
            return np.array(read_ids(source, name=name))
        file = self.array(source, name, dims=(1, 2), kinds=NUMBERS + "U")
        values = np.asarray(file.array)
        if values.size not in values.shape:
            raise file.problem(f"has shape {values.shape}; one value for each query is wanted.")
        return values.ravel()

    def texts(self, source: str, name: str) -> Any:
        """Whatever a file of texts holds: a list, or a dictionary of lists."""
        address = find(source, name=name)
        address.check_file()
        suffix = address.path.suffix.lower()
        if suffix == ".json":
            return read_json(address)
        if suffix in PICKLES:
            held = self._pickle(address)
            return held.tolist() if isinstance(held, np.ndarray) else held
        if suffix in FORMATS:
            return self.column(source, name).tolist()
        return read_lines(address)

    def _contents(self, address: Address) -> tuple[Contents, str]:
        suffix = address.path.suffix.lower()
        if suffix in PICKLES:
            return Contents(dict(_parts(self._pickle(address), WHOLE, address.name))), "a pickle"
        if suffix == ".npy" and address.path.is_file():
            return self._npy(address)
        return read_contents(address)

    def _pickle(self, address: Address) -> Any:
        address.check_file()
        self._refuse(address, "is a pickle, which")
        with address.reading("a pickle"), address.open() as file:
            return read_pickle(address, file)

    def _npy(self, address: Address) -> tuple[Contents, str]:
        """An array that may be of three dimensions, or of pickled objects."""
        label = FORMATS[".npy"].label
        address.check_file()
        with address.reading(label):
            stored = open_npy(address)
            if stored.dtype.hasobject:
                self._refuse(address, "holds pickled objects, which")
                with stored.file.from_start() as file:
                    file.seek(stored.offset)
                    return Contents(dict(_parts(read_pickle(address, file), WHOLE, address.name))), label
            if len(stored.shape) == 3 and address.key is None:
                return Contents({WHOLE: _part(stored.array)}), label
            return npy_contents(stored), label

    def _refuse(self, address: Address, what: str) -> None:
        if not self.trust:
            raise address.problem(
                f"{what} can run code when opened; if you know whose it is, pass {setting('trust', True)}: arrays, "
                f"tensors and plain containers are then read from it, and nothing is run."
            )


def _parts(value: Any, key: str, name: str) -> Iterator[tuple[str, Part]]:
    """The arrays among what a pickle holds; those inside of others are named ``outer.inner``."""
    if isinstance(value, np.ndarray):
        yield key, _part(value)
    elif is_tensor(value):
        yield key, _part(tensor_array(value, name=name))
    elif isinstance(value, list) and (_is_column(value) or _is_matrix(value)):
        yield key, _part(np.asarray(value))
    elif isinstance(value, list | dict):
        for inner, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _parts(each, f"{key}.{inner}".lstrip("."), name)


def _is_column(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(each, str | int | float) for each in value)


def _is_matrix(value: list[Any]) -> bool:
    """Whether these are rows of numbers, all of one length."""
    rows = all(isinstance(row, list) and row and len(row) == len(value[0]) for row in value) if value else False
    return rows and all(isinstance(each, int | float) for row in value for each in row)


def _lazy(loaded: Any) -> AnyArray | FileArray:
    """The numbers of a file, which stay there if they can."""
    if isinstance(loaded, FileArray):
        return loaded
    return numpy_floats(np.asarray(loaded if isinstance(loaded, np.ndarray) else loaded[:]))


def _part(array: AnyArray | FileArray) -> Part:
    return Part(array.shape, array.dtype, lambda: array)
