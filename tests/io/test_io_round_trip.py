"""Every format gives back what was written, with its ids, and lazily where it can."""

from __future__ import annotations

import os

import numpy as np
import pytest

from unhub.io import Rows, open_rows


def test_values_ids_and_source(stored, matrix, ids):
    rows = open_rows(stored.path, name="targets")
    assert isinstance(rows, Rows)
    assert rows.shape == matrix.shape
    assert len(rows) == len(matrix)
    assert rows.dtype == np.float32
    assert rows.source == f"{stored.path}{stored.part}"
    assert rows.ids == (tuple(map(str, range(len(matrix)))) if stored.kind == "zarr" else ids)
    np.testing.assert_array_equal(rows[:], matrix)


@pytest.mark.parametrize("block", [slice(0, 1), slice(5, 40), slice(16, 32), slice(50, 999), slice(-3, None)])
def test_blocks_are_real_arrays(stored, matrix, block):
    found = open_rows(stored.path, name="targets")[block]
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, matrix[block])


def test_empty_blocks(stored, matrix):
    rows = open_rows(stored.path, name="targets")
    assert rows[7:7].shape == rows[9:3].shape == (0, matrix.shape[1])
    assert rows[7:7].dtype == np.float32


def test_the_part_can_be_named_where_there_are_parts(stored, matrix):
    np.testing.assert_array_equal(open_rows(f"{stored.path}{stored.part}", name="targets")[:], matrix)


def test_relative_paths_become_absolute(store, monkeypatch, tmp_path):
    path = store("npz")
    monkeypatch.chdir(tmp_path)
    assert open_rows("x.npz::vectors", name="targets").source == f"{path}::vectors"
    assert open_rows(os.path.join(".", "x.npz"), name="targets").source == f"{path}::vectors"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", ">f4"])
def test_numbers_keep_their_type(tmp_path, matrix, dtype):
    values = (matrix * 10).astype(dtype)
    np.save(tmp_path / "x.npy", values)
    np.savez(tmp_path / "x.npz", values)
    for name in ("x.npy", "x.npz"):
        found = open_rows(tmp_path / name, name="targets")
        assert found.dtype == found[:3].dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found[:], values)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8"])
def test_tables_and_stores_keep_the_type_too(tmp_path, matrix, dtype):
    pa, h5py = pytest.importorskip("pyarrow"), pytest.importorskip("h5py")
    parquet, safetensors = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("safetensors.numpy")
    values = (matrix * 10).astype(dtype)
    lists = pa.FixedSizeListArray.from_arrays(values.ravel(), values.shape[1])
    parquet.write_table(pa.table({"v": lists}), tmp_path / "x.parquet")
    safetensors.save_file({"v": values}, tmp_path / "x.safetensors")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["v"] = values
    for name in ("x.parquet", "x.safetensors", "x.h5"):
        found = open_rows(tmp_path / name, name="targets")
        assert found.dtype == found[2:9].dtype == values.dtype
        np.testing.assert_array_equal(found[:], values)


def test_fortran_order(tmp_path, matrix):
    np.save(tmp_path / "x.npy", np.asfortranarray(matrix))
    np.testing.assert_array_equal(open_rows(tmp_path / "x.npy", name="targets")[10:20], matrix[10:20])


def test_a_stack_of_matrices_in_one_npy(tmp_path):
    stack = np.arange(2 * 5 * 3, dtype=np.float32).reshape(2, 5, 3)
    np.save(tmp_path / "x.npy", stack)
    rows = open_rows(f"{tmp_path}/x.npy::1", name="targets")
    assert rows.source == f"{tmp_path}/x.npy::1"
    np.testing.assert_array_equal(rows[:], stack[1])


def test_the_only_matrix_of_an_archive_is_taken(tmp_path, matrix):
    np.savez(tmp_path / "x.npz", bias=np.zeros(3), vectors=matrix, labels=np.array(["a"]))
    assert open_rows(tmp_path / "x.npz", name="targets").source == f"{tmp_path}/x.npz::vectors"


def test_a_plain_torch_tensor_and_nested_ones(tmp_path, matrix):
    torch = pytest.importorskip("torch")
    torch.save(torch.tensor(matrix), tmp_path / "x.pt")
    assert open_rows(tmp_path / "x.pt", name="targets").source == f"{tmp_path}/x.pt"
    torch.save({"text": {"emb": torch.tensor(matrix)}, "epoch": 3}, tmp_path / "y.pth")
    rows = open_rows(tmp_path / "y.pth", name="targets")
    assert rows.source == f"{tmp_path}/y.pth::text.emb"
    np.testing.assert_array_equal(rows[:], matrix)


def test_a_zarr_array_without_a_group_and_without_an_ending(tmp_path, matrix):
    zarr = pytest.importorskip("zarr")
    array = zarr.open(str(tmp_path / "store"), mode="w", shape=matrix.shape, dtype="f4", chunks=(16, 4))
    array[:] = matrix
    rows = open_rows(tmp_path / "store", name="targets")
    assert rows.source == f"{tmp_path}/store"
    np.testing.assert_array_equal(rows[3:50], matrix[3:50])


def test_bfloat16_becomes_float32(tmp_path, matrix):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    tensor = torch.tensor(matrix).bfloat16()
    save_file({"v": tensor}, tmp_path / "x.safetensors")
    torch.save(tensor, tmp_path / "x.pt")
    for name in ("x.safetensors", "x.pt"):
        rows = open_rows(tmp_path / name, name="targets")
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows[4:30], tensor.float().numpy()[4:30])


def test_an_arrow_tensor_extension_is_read_as_what_it_stores(tmp_path, matrix):
    pa = pytest.importorskip("pyarrow")
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(matrix)
    table = pa.table({"v": tensors})
    with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as file:
        file.write_table(table)
    np.testing.assert_array_equal(open_rows(tmp_path / "x.arrow", name="targets")[:], matrix)


def test_rows_pass_through(matrix):
    rows = open_rows(matrix, name="targets")
    again = open_rows(rows, name="queries")
    assert again.data is rows.data
    assert again.name == "queries"


def test_only_blocks_can_be_asked_for(matrix):
    with pytest.raises(TypeError, match=r"targets gives blocks of rows: targets\[start:stop\], not 3"):
        open_rows(matrix, name="targets")[3]
