"""A correction file on disk: its header first, and each of its parts once, when it is known that they fit in memory."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unhub.core.plan import in_words
from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import open_regular
from unhub.foundation.types import AnyArray
from unhub.io.limits import largest
from unhub.io.safetensors_file import KINDS

LONGEST_HEADER = 8 << 20
"""bytes of a file's header: notes and the places of its parts, some kilobytes where nobody has made it up"""
MOST_AXES = 8
"""of a part; ours have two at the most"""
_DTYPES = {kind: np.dtype(name).newbyteorder("<") for name, kind in KINDS.items()}


@dataclass(frozen=True)
class StoredTensor:
    """What a header says of one part: its type, its shape, and where its bytes are, counted from the file's first."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class OpenArtefact:
    """A file whose header was read, and that lasts as long as it is open."""

    notes: Mapping[str, Any]
    tensors: Mapping[str, StoredTensor]
    _file: BinaryIO

    def read(self) -> dict[str, AnyArray]:
        """Every part, read once; memory is taken for the parts alone."""
        return {name: self._part(each) for name, each in self.tensors.items()}

    def _part(self, stored: StoredTensor) -> AnyArray:
        array = np.empty(stored.shape, dtype=stored.dtype)
        self._file.seek(stored.start)
        if self._file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:  # type: ignore[attr-defined]
            raise ValueError("it became shorter while it was read")
        return array


@contextmanager
def open_artefact(file: Path) -> Iterator[OpenArtefact]:
    """A regular file that fits in the memory that is free; ValueError if its header does not describe it exactly."""
    if not file.exists():
        raise InputError(f"there is no file {file}; write one with unhub fit ... -o {file.name}.")
    try:
        with open_regular(file) as opened:
            size, limit = os.fstat(opened.fileno()).st_size, largest()
            length = _header_length(file, opened.read(9), size)
            if size > limit:
                raise InputError(
                    f"{file} has {size:,} bytes, more than this machine has memory for now ({in_words(limit)} are "
                    f"free); use a larger machine."
                )
            opened.seek(8)
            header = json.loads(opened.read(length))
            if not isinstance(header, dict):
                raise ValueError("its header is no table")
            notes = header.pop("__metadata__", None) or {}
            if not isinstance(notes, dict):
                raise ValueError("its notes are no table")
            yield OpenArtefact(notes, _stored_tensors(header, 8 + length, size), opened)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}.") from error


def _header_length(file: Path, begin: bytes, size: int) -> int:
    """How long the header is, from the first nine bytes: the length, and the header's first sign."""
    if file.suffix != ".unhub" and begin[8:] != b"{":
        raise InputError(f"{file} is not a correction; give a file that unhub fit wrote (it ends in .unhub).")
    header = int.from_bytes(begin[:8], "little")
    if len(begin) < 9 or header > min(LONGEST_HEADER, size - 8):
        reason = f"its header would be {header:,} bytes" if len(begin) == 9 else "it is cut short"
        raise InputError(f"{file} is not a whole correction file ({reason}); fit again.")
    return header


def _stored_tensors(header: Mapping[str, Any], begin: int, size: int) -> dict[str, StoredTensor]:
    """The parts in the order of the file: one behind the other, without a hole, from the header to the end."""
    stored = {name: _stored_tensor(name[:40], each, begin) for name, each in header.items()}
    ordered = dict(sorted(stored.items(), key=lambda each: (each[1].start, each[1].stop)))
    end = begin
    for name, each in ordered.items():
        if each.start != end:
            raise ValueError(f"its {name[:40]} does not begin where the part before it ends")
        end = each.stop
    if end != size:
        raise ValueError(f"its parts end at byte {end:,} of {size:,}")
    return ordered


def _stored_tensor(name: str, told: Any, begin: int) -> StoredTensor:
    kind, shape, (start, stop) = told["dtype"], told["shape"], told["data_offsets"]
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise ValueError(f"its {name} holds values of an unknown type")
    if not isinstance(shape, list) or len(shape) > MOST_AXES or not all(map(_is_count, (*shape, start, stop))):
        raise ValueError(f"its {name} has no shape or no place")
    dtype = _DTYPES[kind]
    if stop - start != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"its {name} has {stop - start:,} bytes, which its shape does not take")
    return StoredTensor(dtype, tuple(shape), begin + start, begin + stop)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 60
