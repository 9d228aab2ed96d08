"""Zarr folders, of package version 2 or 3: every array is a part, read chunk by chunk when it is sliced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unhub.foundation.optional import require
from unhub.io.address import Address
from unhub.io.contents import WHOLE, Contents, Part

_MARKERS = ("zarr.json", ".zarray", ".zgroup")


def is_zarr(path: Path) -> bool:
    """Whether a folder is a zarr array or group."""
    return path.is_dir() and any((path / marker).is_file() for marker in _MARKERS)


def read_zarr(address: Address) -> Contents:
    """The array of the folder, or the arrays of its groups by their path inside it."""
    if not address.path.is_dir():
        raise address.problem("is a file, but zarr is a folder; give the folder (unpack it if it is zipped).")
    if not is_zarr(address.path):
        raise address.problem(f"is not a zarr folder: it has no {', '.join(_MARKERS)}; write or copy it again.")
    zarr = require("zarr", extra="files")
    return Contents(dict(_walk(zarr.open(str(address.path), mode="r"), WHOLE)))


def _walk(node: Any, key: str) -> Iterator[tuple[str, Part]]:
    if hasattr(node, "shape"):
        yield key, Part(tuple(node.shape), node.dtype, lambda: node)
        return
    for members in (node.arrays(), node.groups()):
        for name, member in members:
            yield from _walk(member, f"{key}/{name}".lstrip("/"))
