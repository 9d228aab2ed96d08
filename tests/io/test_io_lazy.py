"""Formats that can be read in parts are: shown by what is behind the rows, and by what is never touched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhub.io import FileArray, open_rows
from unhub.io.arrow_table import ChunkedRows


@pytest.mark.parametrize("kind", ["npy", "safetensors"])
def test_npy_and_safetensors_stay_in_their_file(store, kind, matrix):
    data = open_rows(store(kind), name="targets").data
    assert isinstance(data, FileArray)
    assert data.in_memory is None
    np.testing.assert_array_equal(data[3:9], matrix[3:9])


def test_what_was_read_whole_is_not_read_or_copied_again(store):
    rows = open_rows(store("npy"), name="targets")
    whole = rows.data.load()
    assert np.shares_memory(rows[3:9], whole)
    assert not rows[3:9].flags.writeable


def test_a_large_sparse_file_is_opened_without_being_read(tmp_path):
    """Eight gigabytes of holes: reading them would take minutes, and memory that is not there."""
    rows, dim = 4_000_000, 512
    path = tmp_path / "x.npy"
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + rows * dim * 4)
    opened = open_rows(path, name="targets")
    assert opened.shape == (rows, dim)
    assert not opened[rows - 2 :].any()


def test_hdf5_and_zarr_stay_on_disk(store):
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    assert isinstance(open_rows(store("hdf5"), name="targets").data, h5py.Dataset)
    array = zarr.Array if hasattr(zarr, "Array") else zarr.core.Array
    assert isinstance(open_rows(store("zarr"), name="targets").data, array)


def test_a_damaged_zarr_chunk_hurts_only_its_own_rows(store, matrix, sentence):
    path = store("zarr")
    chunk = next(file for file in sorted(path.rglob("*")) if file.is_file() and file.as_posix().endswith(_second()))
    chunk.write_bytes(b"not a chunk")
    rows = open_rows(path, name="targets")
    np.testing.assert_array_equal(rows[0:16], matrix[0:16])
    assert "targets: x.zarr cannot be read as a matrix: it is cut short or damaged" in sentence(
        rows.__getitem__, slice(20, 30)
    )


def _second() -> str:
    """The second chunk of the matrix, as this version of zarr names it."""
    import zarr

    return "vectors/c/1/0" if zarr.__version__.startswith("3") else "vectors/1.0"


def test_a_damaged_row_group_hurts_only_its_own_rows(store, matrix, sentence):
    path = store("parquet")
    parquet = pytest.importorskip("pyarrow.parquet")
    column = parquet.ParquetFile(path).metadata.row_group(2).column(1)
    start = column.dictionary_page_offset or column.data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)
    rows = open_rows(path, name="targets")
    np.testing.assert_array_equal(rows[0:32], matrix[0:32])
    assert "targets: x.parquet cannot be read as a matrix: it is cut short or damaged" in sentence(
        rows.__getitem__, slice(30, 40)
    )


def test_an_arrow_file_is_read_one_batch_at_a_time(tmp_path):
    pa = pytest.importorskip("pyarrow")
    values = np.arange(20_000 * 64, dtype=np.float32)
    table = pa.table({"v": pa.FixedSizeListArray.from_arrays(values, 64)})
    with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=1000)
    before = pa.total_allocated_bytes()
    rows = open_rows(tmp_path / "x.arrow", name="targets")
    np.testing.assert_array_equal(rows[1002:1009], values.reshape(-1, 64)[1002:1009])
    assert pa.total_allocated_bytes() - before < values.nbytes / 4


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(-3, 32), st.integers(-3, 32))
def test_chunks_are_one_matrix(lengths, start, stop):
    whole = np.arange(2 * sum(lengths)).reshape(-1, 2)
    chunked = ChunkedRows(lengths, 2, whole.dtype, lambda chunk, first: whole[first : first + lengths[chunk]])
    np.testing.assert_array_equal(chunked[start:stop], whole[start:stop])


def test_a_pass_in_order_loads_each_chunk_once():
    loads = []

    def load(chunk: int, first: int) -> np.ndarray:
        loads.append((chunk, first))
        return np.full((10, 1), chunk)

    chunked = ChunkedRows([10, 10, 10], 1, np.dtype(int), load)
    for start in range(0, 30, 4):
        chunked[start : start + 4]
    assert loads == [(0, 0), (1, 10), (2, 20)]
