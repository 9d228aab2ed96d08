"""Which reader opens which kind of file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unhub.io.address import Address, Contents
from unhub.io.arrow_file import read_arrow
from unhub.io.arrow_table import read_parquet
from unhub.io.hdf5 import read_hdf5
from unhub.io.matlab import read_matlab
from unhub.io.npy import read_npy, read_npz
from unhub.io.safetensors_file import read_correction, read_safetensors
from unhub.io.torch_file import read_torch
from unhub.io.zarr_folder import is_zarr, read_zarr


@dataclass(frozen=True)
class Format:
    """A kind of file: what it is called in a sentence, and its reader."""

    label: str
    read: Callable[[Address], Contents]


_ZARR = Format("zarr", read_zarr)

FORMATS: dict[str, Format] = {
    ".npy": Format("a NumPy array (.npy)", read_npy),
    ".npz": Format("a NumPy archive (.npz)", read_npz),
    ".safetensors": Format("safetensors", read_safetensors),
    ".unhub": Format("a correction", read_correction),
    **dict.fromkeys((".pt", ".pth"), Format("a torch file", read_torch)),
    ".parquet": Format("parquet", read_parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), Format("an Arrow file", read_arrow)),
    **dict.fromkeys((".h5", ".hdf5"), Format("HDF5", read_hdf5)),
    ".mat": Format("a MATLAB file", read_matlab),
    ".zarr": _ZARR,
}


def read_contents(address: Address) -> tuple[Contents, str]:
    """What the file holds, and what its format is called."""
    reader = _format_of(address)
    with address.reading(reader.label):
        return reader.read(address), reader.label


def _format_of(address: Address) -> Format:
    """The format of a file, by its extension; a zarr folder may have any name."""
    if address.path.is_dir():
        if address.suffix == ".zarr" or is_zarr(address.path):
            return _ZARR
        raise address.problem("is a folder, not a file; give a file inside it, or a zarr folder.")
    address.check_file(FORMATS)
    return FORMATS[address.suffix]
