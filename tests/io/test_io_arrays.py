"""Things in memory: taken as they are where that is possible."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from unhub.io import FileArray, open_rows


def test_arrays_are_not_copied(matrix):
    rows = open_rows(matrix, name="targets")
    assert rows.data is matrix
    assert rows.source is None
    assert rows.ids is None
    assert np.shares_memory(rows[2:5], matrix)


def test_read_only_memory_maps_are_read_from_their_file(tmp_path, matrix):
    np.save(tmp_path / "x.npy", matrix)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    views = {
        "whole": (mapped, matrix),
        "rows": (mapped[3:9], matrix[3:9]),
        "array": (np.asarray(mapped)[1:], matrix[1:]),
    }
    views |= {"turned": (mapped.T, matrix.T), "pairs": (mapped.reshape(-1, 2), matrix.reshape(-1, 2))}
    for view, expected in views.values():
        rows = open_rows(view, name="targets")
        assert isinstance(rows.data, FileArray)
        assert type(rows[:2]) is np.ndarray
        np.testing.assert_array_equal(rows[:], expected)
        np.testing.assert_array_equal(rows[1:3], expected[1:3])


def test_other_memory_maps_stay_as_they_are(tmp_path, matrix):
    """Those that can be written to, those with gaps, and those whose file is not at its path any more."""
    np.save(tmp_path / "x.npy", matrix)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for view in (np.load(tmp_path / "x.npy", mmap_mode="r+"), mapped[:, 1:3], mapped[::2]):
        assert open_rows(view, name="targets").data is view
    np.save(tmp_path / "y.npy", matrix + 1)
    (tmp_path / "y.npy").replace(tmp_path / "x.npy")
    rows = open_rows(mapped, name="targets")
    assert rows.data is mapped
    np.testing.assert_array_equal(rows[:], matrix)


def test_lists_of_lists():
    np.testing.assert_array_equal(open_rows([[1, 2.5], [3, 4]], name="targets")[:], [[1, 2.5], [3, 4]])


def test_anything_with_array(matrix):
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return matrix

    np.testing.assert_array_equal(open_rows(Wrapped(), name="targets")[:], matrix)


def test_an_open_dataset_stays_on_disk(store, matrix):
    h5py = pytest.importorskip("h5py")
    with h5py.File(store("hdf5"), "r") as file:
        rows = open_rows(file["vectors"], name="targets")
        assert isinstance(rows.data, h5py.Dataset)
        np.testing.assert_array_equal(rows[:], matrix)


def test_torch_tensors(matrix):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(matrix)
    rows = open_rows(tensor, name="targets")
    assert np.shares_memory(rows[:], tensor.numpy())
    wanted = torch.tensor(matrix, requires_grad=True)
    np.testing.assert_array_equal(open_rows(wanted, name="targets")[:], matrix)
    np.testing.assert_array_equal(open_rows(torch.nn.Parameter(tensor), name="targets")[:], matrix)
    assert open_rows(tensor.half(), name="targets").dtype == np.float16


def test_torch_bfloat16_becomes_float32(matrix):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(matrix, requires_grad=True).bfloat16()
    rows = open_rows(tensor, name="targets")
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[:], tensor.detach().float().numpy())


def test_a_sparse_tensor_is_refused(sentence):
    torch = pytest.importorskip("torch")
    assert sentence(open_rows, torch.eye(3).to_sparse(), name="targets") == (
        "targets is a tensor of torch.float32 (torch.sparse_coo) that NumPy cannot hold; "
        "pass a dense tensor of real numbers, for instance tensor.to_dense().float()."
    )


def test_what_is_not_a_matrix_of_numbers(sentence):
    def refused(source):
        return sentence(open_rows, source, name="query_bank")

    assert refused(np.zeros(5)) == (
        "query_bank has shape (5,), not two dimensions; give one row per item: (rows, columns)."
    )
    assert refused(np.zeros((2, 3, 4))) == (
        "query_bank has shape (2, 3, 4), not two dimensions; give one row per item: (rows, columns)."
    )
    assert refused(np.zeros((0, 4))) == "query_bank has shape (0, 4): there are no rows; give at least one."
    assert refused(np.zeros((4, 0))) == (
        "query_bank has shape (4, 0): the rows have dimension 0; give at least one column."
    )
    assert refused(np.ones((2, 2), bool)) == (
        "query_bank holds true/false values (dtype bool), not numbers; convert them to float32."
    )
    assert refused([["a", "b"]]) == "query_bank holds text (dtype <U1), not numbers; convert them to float32."
    assert refused(np.array([[None, 1]])) == (
        "query_bank holds Python objects (dtype object), not numbers; convert them to float32."
    )
    assert refused(np.ones((2, 2), complex)) == (
        "query_bank holds complex numbers (dtype complex128), not numbers; convert them to float32."
    )
    assert refused(None) == ("query_bank is None, not an array; give an array, a tensor, lists of numbers or a path.")
    assert refused(3.5) == (
        "query_bank is of type float, not an array; give an array, a tensor, lists of numbers or a path."
    )


def test_ragged_lists(sentence):
    assert sentence(open_rows, [[1, 2], [3, 4], [5]], name="targets") == (
        "targets cannot be read as an array: row 2 has 1 numbers and row 0 has 2 (rows count from 0)."
    )


def test_masked_and_sparse_matrices(sentence):
    from scipy.sparse import csr_matrix

    assert sentence(open_rows, np.ma.masked_array(np.eye(2), mask=np.eye(2)), name="targets") == (
        "targets is a masked array; fill the masked values first, with its filled(value)."
    )
    assert sentence(open_rows, csr_matrix(np.eye(2)), name="targets") == (
        "targets is a sparse matrix (csr_matrix; use its toarray()), not an array; "
        "give an array, a tensor, lists of numbers or a path."
    )


def test_a_failing_array_method_is_not_a_traceback(sentence):
    class OnTheGpu:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("implicit conversion is not allowed.\nmore")

    assert sentence(open_rows, OnTheGpu(), name="targets") == (
        "targets cannot be read as an array: implicit conversion is not allowed."
    )


HEAVY = ["torch", "h5py", "zarr", "pyarrow", "scipy.io"]
LOADED = "import sys; print([name for name in {heavy} if name in sys.modules])"


@pytest.mark.parametrize(("first", "expected"), [("import unhub.io", "[]"), ("import scipy.io", "['scipy.io']")])
def test_heavy_packages_are_not_imported(first, expected):
    """The second case shows that the first could fail."""
    code = f"{first}; {LOADED.format(heavy=HEAVY)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected
