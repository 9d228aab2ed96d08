"""One small matrix with ids, and a writer for each format that can hold it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unhub.foundation.errors import InputError

ROWS, DIM = 60, 4
MATRIX = np.random.default_rng(0).standard_normal((ROWS, DIM)).astype(np.float32)
IDS = tuple(f"item-{row}" for row in range(ROWS))


def write_npy(path: Path) -> None:
    np.save(path, MATRIX)
    path.with_suffix(".ids.txt").write_text("\n".join(IDS) + "\n")


def write_npz(path: Path) -> None:
    np.savez(path, vectors=MATRIX, ids=np.array(IDS))


def write_npz_compressed(path: Path) -> None:
    np.savez_compressed(path, vectors=MATRIX, ids=np.array(IDS))


def write_safetensors(path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"vectors": MATRIX}, path)
    np.save(path.with_suffix(".ids.npy"), np.array(IDS))


def write_torch(path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"vectors": torch.tensor(MATRIX), "ids": list(IDS)}, path)


def arrow_table(*, fixed: bool) -> Any:
    pa = pytest.importorskip("pyarrow")
    vectors = pa.FixedSizeListArray.from_arrays(MATRIX.ravel(), DIM) if fixed else pa.array(list(MATRIX))
    return pa.table({"id": list(IDS), "vectors": vectors})


def write_parquet(path: Path) -> None:
    table = arrow_table(fixed=True)
    pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=16)


def write_parquet_lists(path: Path) -> None:
    table = arrow_table(fixed=False)
    pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=16)


def write_arrow(path: Path) -> None:
    pa, table = pytest.importorskip("pyarrow"), arrow_table(fixed=True)
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=16)


def write_arrow_stream(path: Path) -> None:
    pa, table = pytest.importorskip("pyarrow"), arrow_table(fixed=False)
    with pa.ipc.new_stream(path, table.schema) as file:
        file.write_table(table, max_chunksize=16)


def write_feather(path: Path) -> None:
    table = arrow_table(fixed=False)
    pytest.importorskip("pyarrow.feather").write_feather(table, path, chunksize=16)


def write_hdf5(path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["vectors"], file["ids"] = MATRIX, list(IDS)


def write_hdf5_group(path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("train/vectors", data=MATRIX, chunks=(16, DIM), compression="gzip")
        file["train/ids"] = np.array(IDS, dtype="S")


def write_matlab(path: Path) -> None:
    import scipy.io

    scipy.io.savemat(path, {"vectors": MATRIX, "ids": np.array(IDS)})


def write_matlab_compressed(path: Path) -> None:
    import scipy.io

    scipy.io.savemat(path, {"vectors": MATRIX, "ids": np.array(IDS)}, do_compression=True)


def write_matlab_4(path: Path) -> None:
    import scipy.io

    scipy.io.savemat(path, {"vectors": MATRIX, "ids": np.array(IDS)}, format="4")


def write_matlab_hdf5(path: Path) -> None:
    """What MATLAB writes with -v7.3: HDF5 after 512 bytes of its own, axes reversed."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("vectors", data=MATRIX.T).attrs["MATLAB_class"] = np.bytes_("single")
        file.create_dataset("note", data=np.zeros((1, 5), np.uint16)).attrs["MATLAB_class"] = np.bytes_("char")
        file["#refs#/a"] = np.zeros((3, 3))
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    path.with_suffix(".ids.json").write_text(str(list(IDS)).replace("'", '"'))


def write_zarr(path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(path), mode="w")
    for key, data in {"vectors": MATRIX, "ids": np.arange(ROWS)}.items():
        array = group.require_array if hasattr(group, "require_array") else group.require_dataset
        array(key, shape=data.shape, dtype=data.dtype, chunks=(16, *data.shape[1:]))[:] = data
    path.with_suffix(".ids.txt").write_text("ignored: the ids in the file come first\n")


WRITERS: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "npy": ("x.npy", "", write_npy),
    "npz": ("x.npz", "::vectors", write_npz),
    "npz compressed": ("x.npz", "::vectors", write_npz_compressed),
    "safetensors": ("x.safetensors", "::vectors", write_safetensors),
    "torch": ("x.pt", "::vectors", write_torch),
    "parquet": ("x.parquet", "::vectors", write_parquet),
    "parquet lists": ("x.parquet", "::vectors", write_parquet_lists),
    "arrow": ("x.arrow", "::vectors", write_arrow),
    "arrow stream": ("x.ipc", "::vectors", write_arrow_stream),
    "feather": ("x.feather", "::vectors", write_feather),
    "hdf5": ("x.h5", "::vectors", write_hdf5),
    "hdf5 group": ("x.hdf5", "::train/vectors", write_hdf5_group),
    "matlab": ("x.mat", "::vectors", write_matlab),
    "matlab compressed": ("x.mat", "::vectors", write_matlab_compressed),
    "matlab 4": ("x.mat", "::vectors", write_matlab_4),
    "matlab hdf5": ("x.mat", "::vectors", write_matlab_hdf5),
    "zarr": ("x.zarr", "::vectors", write_zarr),
}


class Stored:
    """A file that was just written: where it is, and the part of it that holds the matrix."""

    def __init__(self, folder: Path, kind: str) -> None:
        name, self.part, write = WRITERS[kind]
        self.kind, self.path = kind, folder / name
        write(self.path)


@pytest.fixture(params=WRITERS)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Stored:
    """The matrix in each format in turn."""
    return Stored(tmp_path, request.param)


@pytest.fixture
def store(tmp_path: Path) -> Callable[[str], Path]:
    """A function that writes the matrix in a format given by name."""
    return lambda kind: Stored(tmp_path, kind).path


@pytest.fixture
def matrix() -> np.ndarray:
    return MATRIX.copy()


@pytest.fixture
def ids() -> tuple[str, ...]:
    return IDS


@pytest.fixture
def sentence(tmp_path: Path) -> Callable[..., str]:
    """The text of the ``InputError`` that a call raises, with the test's folder left out."""

    def raised(function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
        with pytest.raises(InputError) as caught:
            function(*arguments, **options)
        return str(caught.value).replace(f"{tmp_path}/", "").replace(str(tmp_path), "FOLDER")

    return raised
