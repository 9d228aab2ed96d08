"""Which reader opens which kind of file."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from unhub.foundation.wording import setting
from unhub.io.address import Address, check_is_file, check_not_empty, translate_errors
from unhub.io.arrow_file import read_arrow
from unhub.io.contents import Contents
from unhub.io.hdf5 import read_hdf5
from unhub.io.matlab import read_matlab
from unhub.io.npy import read_npy, read_npz
from unhub.io.parquet import read_parquet
from unhub.io.safetensors_file import read_correction, read_safetensors
from unhub.io.torch_file import read_torch
from unhub.io.zarr_folder import is_zarr, read_zarr


@dataclass(frozen=True)
class Format:
    """A kind of file: what it is called in a sentence, and its reader."""

    label: str
    read: Callable[[Address], Contents]


_TORCH = Format("a torch file", read_torch)
_ARROW = Format("an Arrow file", read_arrow)
_HDF5 = Format("HDF5", read_hdf5)
_ZARR = Format("zarr", read_zarr)

FORMATS: dict[str, Format] = {
    ".npy": Format("a NumPy array (.npy)", read_npy),
    ".npz": Format("a NumPy archive (.npz)", read_npz),
    ".safetensors": Format("safetensors", read_safetensors),
    ".unhub": Format("a correction", read_correction),
    ".pt": _TORCH,
    ".pth": _TORCH,
    ".parquet": Format("parquet", read_parquet),
    ".arrow": _ARROW,
    ".feather": _ARROW,
    ".ipc": _ARROW,
    ".h5": _HDF5,
    ".hdf5": _HDF5,
    ".mat": Format("a MATLAB file", read_matlab),
    ".zarr": _ZARR,
}

PICKLES = (".pkl", ".pickle", ".joblib", ".dill")


def format_of(address: Address) -> Format:
    """The format of a file, by its extension; a zarr folder may have any name."""
    suffix = address.path.suffix.lower()
    if address.path.is_dir() and (is_zarr(address.path) or suffix == ".zarr"):
        return _ZARR
    if address.path.is_dir():
        raise address.problem("is a folder, not a file; give a file inside it, or a zarr folder.")
    check_is_file(address)
    check_extension(address, FORMATS)
    check_not_empty(address)
    return FORMATS[suffix]


def check_extension(address: Address, known: Collection[str]) -> None:
    """An error unless the extension is a known one; a pickle is refused in its own words."""
    suffix = address.path.suffix.lower()
    if suffix in PICKLES:
        raise address.problem(
            "is a pickle, which can run code when opened and is never read; save the array with numpy.save, or make an "
            f"experiment of it with unhub import and {setting('trust', True)}."
        )
    if suffix not in known:
        came = f"the unknown extension {suffix!r}" if suffix else "no extension"
        raise address.problem(f"has {came}; known are {', '.join(known)}.")


def read_contents(address: Address) -> tuple[Contents, str]:
    """What the file holds, and what its format is called."""
    form = format_of(address)
    with translate_errors(address, form.label):
        return form.read(address), form.label
