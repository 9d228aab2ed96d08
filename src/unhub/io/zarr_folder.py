"""Zarr folders, of package version 2 or 3: every array is a part, read chunk by chunk when it is sliced.

The folder is walked here, and each array is opened by itself when it is asked for: after a look at its own metadata
(``zarr_metadata``) and at its files (``zarr_chunks``). A summary of the whole folder, which could say something else,
is never read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.io.address import Address
from unhub.io.contents import WHOLE, Contents, Part
from unhub.io.limits import check_loaded_whole, check_stored
from unhub.io.zarr_chunks import RATIOS, check_chunks, stored_chunks
from unhub.io.zarr_metadata import GROUP, V2, V3, Described, describe, read_json, refusal

_MARKERS = (V3, V2, GROUP)
_MOST_ARRAYS, _DEEPEST = 10_000, 32


def is_zarr(path: Path) -> bool:
    """Whether a folder is a zarr array or group."""
    return path.is_dir() and any((path / marker).is_file() for marker in _MARKERS)


def read_zarr(address: Address) -> Contents:
    """The array of the folder, or the arrays of its groups by their path inside it."""
    if not address.path.is_dir():
        raise address.problem("is a file, but zarr is a folder; give the folder (unpack it if it is zipped).")
    if not is_zarr(address.path):
        raise address.problem(f"is not a zarr folder: it has no {', '.join(_MARKERS)}; write or copy it again.")
    is_old = require("zarr", extra="files").__version__.startswith("2.")
    found: dict[str, Part] = {}
    for key, file in _arrays(address.path, WHOLE, (V2,) if is_old else (V3, V2)):
        found[key] = _part(address, key, file)
        if len(found) > _MOST_ARRAYS:
            raise address.problem(f"holds more than {_MOST_ARRAYS:,} arrays; give a folder with fewer.")
    return Contents(found)


def _arrays(folder: Path, key: str, known: tuple[str, ...], depth: int = 0) -> Iterator[tuple[str, Path]]:
    """The keys and metadata files of the arrays; links are not followed, so that nothing outside is read."""
    if depth > _DEEPEST:
        raise ValueError(f"its groups are nested deeper than {_DEEPEST}")
    for name in known:
        file = folder / name
        if file.is_file() and (name == V2 or read_json(file).get("node_type") == "array"):
            yield key, file
            return
    if not is_zarr(folder):
        return
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    for name in names:
        yield from _arrays(folder / name, f"{key}/{name}".lstrip("/"), known, depth + 1)


def _part(address: Address, key: str, file: Path) -> Part:
    """An array as a part; one that is not read says why when it is chosen, and leaves the others alone."""
    array = describe(file)
    refused = refusal(array)
    if refused is not None:
        named = f" {key!r}" if key else ""
        problem = address.problem(f"has an array{named} that {refused}")
        return Part(array.shape, np.dtype("O"), partial(_refuse, problem))
    is_text = array.dtype == object
    return Part(array.shape, np.dtype("U") if is_text else array.dtype, partial(_open, address, key, file, array))


def _refuse(problem: InputError) -> Any:
    raise problem


def _open(address: Address, key: str, file: Path, array: Described) -> Any:
    stored = stored_chunks(address, file.parent)
    ratio = max((RATIOS[codec] for codec in array.compressors), default=1)
    check_stored(address, key, array.bytes, stored=sum(stored.values()), ratio=ratio)
    check_loaded_whole(address, key, array.chunk_bytes, what="a single chunk of it")
    if len(array.shape) < 2:  # columns of ids and labels are always read whole
        check_loaded_whole(address, key, array.bytes)
    check_chunks(address, key, array, stored)
    zarr = require("zarr", extra="files")
    version = {} if zarr.__version__.startswith("2.") else {"zarr_format": 2 if file.name == V2 else 3}
    return zarr.open_array(str(file.parent), mode="r", **version)
