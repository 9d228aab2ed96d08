"""The folder of an imported dump: where it may be, and what is written there."""

from __future__ import annotations

import os
from pathlib import Path

from numpy.lib import format as npy_format

from unhub.api.progress import Progress
from unhub.experiments.importing.matrices import Matrix
from unhub.foundation.errors import InputError


def free_place(path: str | os.PathLike[str]) -> Path:
    """Where the folder will be; an error if something is there, or if it cannot be made."""
    place = Path(os.path.realpath(os.path.expanduser(os.fspath(path))))
    if not place.parent.is_dir():
        raise InputError(f"cannot make {place}: there is no folder {place.parent}; make it first.")
    if place.exists() and not place.is_dir():
        raise InputError(f"cannot make the folder {place}: there is a file of that name; choose another.")
    if place.is_dir() and any(place.iterdir()):
        raise InputError(f"the folder {place} is not empty; choose another, or remove it.")
    if place == Path.cwd():
        raise InputError(f"{place} is the folder you are in; name one that is not there yet.")
    if not os.access(place.parent, os.W_OK):
        raise InputError(f"cannot make {place}: permission denied in {place.parent}; choose another place.")
    return place


def save_matrix(path: Path, matrix: Matrix, progress: Progress | None) -> None:
    """Writes the rows as float32, a block at a time."""
    rows, columns = matrix.shape
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, columns)}
    with path.open("wb") as file:
        npy_format.write_array_header_1_0(file, header)
        for start, block in matrix.blocks():
            file.write(block.astype("<f4", copy=False).tobytes())
            if progress is not None:
                progress(path.name, start + len(block), rows)
