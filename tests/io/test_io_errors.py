"""Files that cannot be used, each refused in one sentence: what, where, what to do."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from unhub.io import open_rows

KNOWN = ".npy, .npz, .safetensors, .unhub, .pt, .pth, .parquet, .arrow, .feather, .ipc, .h5, .hdf5, .mat, .zarr"


@pytest.fixture
def refused(sentence, tmp_path):
    """The sentence for a path inside the test's folder."""
    return lambda name: sentence(open_rows, f"{tmp_path}/{name}", name="targets")


def test_not_found(refused, tmp_path):
    assert refused("x.npy") == "targets: there is no file 'x.npy' in FOLDER; check the path."
    for name in ("Images.npy", "images.npz", "other.txt"):
        (tmp_path / name).touch()
    assert refused("imags.npy") == (
        "targets: there is no file 'imags.npy' in FOLDER; did you mean 'Images.npy' or 'images.npz'?"
    )
    assert refused("images.h5::key") == (
        "targets: there is no file 'images.h5' in FOLDER; did you mean 'images.npz' or 'Images.npy'?"
    )
    assert refused("no/x.npy") == "targets: there is no file no/x.npy, nor a folder no; check the path."
    assert refused("y" * 300).endswith("in FOLDER; check the path.")


def test_empty_names(refused, sentence, tmp_path):
    assert sentence(open_rows, "", name="targets") == (
        "targets is an empty path; give a file such as 'file.npy' or 'file.npz::key'."
    )
    np.savez(tmp_path / "x.npz", a=np.eye(2))
    assert refused("x.npz::") == ("targets: x.npz is followed by '::' but no name; write x.npz::key or x.npz.")


def test_unknown_extensions(refused, tmp_path):
    for name in ("x.docx", "x"):
        (tmp_path / name).write_text("1 2 3")
    assert refused("x.docx") == f"targets: x.docx has the unknown extension '.docx'; known are {KNOWN}."
    assert refused("x") == f"targets: x has no extension; known are {KNOWN}."


def test_folders(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.npy").mkdir()
    (tmp_path / "y.zarr").write_text("zipped")
    told = "is a folder, not a file; give a file inside it, or a zarr folder."
    assert refused("folder") == f"targets: folder {told}"
    assert refused("x.npy") == f"targets: x.npy {told}"
    assert refused("x.zarr") == (
        "targets: x.zarr is not a zarr folder: it has no zarr.json, .zarray, .zgroup; write or copy it again."
    )
    assert refused("y.zarr") == (
        "targets: y.zarr is a file, but zarr is a folder; give the folder (unpack it if it is zipped)."
    )


def test_empty_files(refused, tmp_path):
    for ending in KNOWN.replace(", .zarr", "").split(", "):
        (tmp_path / f"x{ending}").touch()
        assert refused(f"x{ending}") == f"targets: x{ending} is empty (0 bytes); write or copy it again."


def test_cut_short_with_both_sizes(refused, store):
    for kind in ("npy", "safetensors", "hdf5"):
        path = store(kind)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) - 100])
        assert refused(path.name) == (
            f"targets: {path.name} is cut short: {len(data):,} bytes expected but {len(data) - 100:,} found; "
            "write or copy it again."
        )


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("npz", "a NumPy archive (.npz)"),
        ("torch", "a torch file"),
        ("parquet", "parquet"),
        ("arrow", "an Arrow file"),
        ("arrow stream", "an Arrow file"),
        ("feather", "an Arrow file"),
        ("matlab", "a MATLAB file"),
    ],
)
def test_cut_short_where_the_size_is_lost(refused, store, kind, label):
    path = store(kind)
    half = len(path.read_bytes()) // 2
    path.write_bytes(path.read_bytes()[:half])
    told = refused(path.name)
    assert told.startswith(
        f"targets: {path.name} cannot be read as {label}: it is cut short or damaged ({half:,} bytes); "
        "write or copy it again (reason: "
    )
    assert "\n" not in told


def test_more_bytes_than_promised(refused, tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        np.save(file, np.eye(2))
        np.save(file, np.eye(2))
    assert refused("x.npy") == (
        "targets: x.npy has 320 bytes where its header promises 160; write it again with one numpy.save."
    )


def test_pickles_are_never_opened(refused, tmp_path):
    """The pickle would leave a file behind if it were."""

    class Trap:
        def __reduce__(self):
            return open, (str(tmp_path / "opened"), "w")

    objects = np.array([[Trap()]], dtype=object)
    np.save(tmp_path / "x.npy", objects)
    np.savez(tmp_path / "x.npz", a=objects)
    for name in ("x.pkl", "x.pickle"):
        (tmp_path / name).write_bytes(pickle.dumps(Trap()))
    advice = "save plain numbers, for instance numpy.save(path, numpy.asarray(rows, dtype='float32'))."
    danger = "which can run code when opened and are never read"
    assert refused("x.npy") == f"targets: x.npy holds pickled Python objects, {danger}; {advice}"
    assert refused("x.npz") == f"targets: x.npz holds pickled Python objects in 'a', {danger}; {advice}"
    for name in ("x.pkl", "x.pickle"):
        assert refused(name) == (
            f"targets: {name} is a pickle, which can run code when opened and is never read; "
            "save the array with numpy.save, or make an experiment of it with unhub import and trust=True."
        )
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.eye(2), "b": Trap()}, tmp_path / "x.pt")
    assert refused("x.pt") == (
        f"targets: x.pt holds pickled Python objects other than tensors, {danger}; "
        "save the tensor alone: torch.save(tensor, path)."
    )
    assert not (tmp_path / "opened").exists()


def test_several_matrices(refused, tmp_path):
    np.savez(tmp_path / "x.npz", text=np.zeros((5, 3)), image=np.zeros((7, 3)), names=np.array(["a"]))
    assert refused("x.npz") == (
        "targets: x.npz holds several matrices of numbers: text (5, 3), image (7, 3); "
        "name one, for instance x.npz::text."
    )
    np.save(tmp_path / "x.npy", np.zeros((2, 500, 512), np.int8))
    assert refused("x.npy") == (
        "targets: x.npy holds several matrices of numbers: 0 (500, 512), 1 (500, 512); name one, for instance x.npy::0."
    )
    np.savez(tmp_path / "y.npz", **{f"a{part}": np.eye(2) for part in range(12)})
    assert "a9 (2, 2) and 2 more; name one" in refused("y.npz")


def test_no_matrix(refused, tmp_path):
    np.savez(tmp_path / "x.npz", text=np.zeros(5), names=np.array(["a"]))
    assert refused("x.npz") == ("targets: x.npz holds no matrices of numbers; it has: text (5,), names (1,).")
    np.savez(tmp_path / "y.npz")
    assert refused("y.npz") == "targets: y.npz holds no arrays; write matrices of numbers into it."


def test_key_not_found(refused, tmp_path):
    np.savez(tmp_path / "x.npz", text=np.zeros((5, 3)), image=np.zeros((7, 3)))
    assert refused("x.npz::txt") == (
        "targets: x.npz has no part 'txt'; it has: text (5, 3), image (7, 3); did you mean x.npz::text?"
    )
    assert refused("x.npz::audio") == "targets: x.npz has no part 'audio'; it has: text (5, 3), image (7, 3)."
    np.save(tmp_path / "x.npy", np.eye(2))
    assert refused("x.npy::a") == "targets: x.npy holds one array and no part 'a'; leave out '::a'."


def test_not_a_matrix_of_numbers(refused, tmp_path):
    for name, array in {
        "flat": np.zeros(5),
        "none": np.zeros((0, 5)),
        "thin": np.zeros((5, 0)),
        "bool": np.ones((2, 2), bool),
        "text": np.array([["a"]]),
        "four": np.zeros((1, 1, 1, 1)),
        "complex": np.ones((2, 2), complex),
    }.items():
        np.save(tmp_path / f"{name}.npy", array)
    one_row = "not two dimensions; give one row per item: (rows, columns)."
    numbers = "not numbers; convert them to float32."
    assert refused("flat.npy") == f"targets: flat.npy has shape (5,), {one_row}"
    assert refused("four.npy") == f"targets: four.npy has shape (1, 1, 1, 1), {one_row}"
    assert refused("none.npy") == "targets: none.npy has shape (0, 5): there are no rows; give at least one."
    assert refused("thin.npy") == (
        "targets: thin.npy has shape (5, 0): the rows have dimension 0; give at least one column."
    )
    assert refused("bool.npy") == f"targets: bool.npy holds true/false values (dtype bool), {numbers}"
    assert refused("text.npy") == f"targets: text.npy holds text (dtype <U1), {numbers}"
    assert refused("complex.npy") == f"targets: complex.npy holds complex numbers (dtype complex128), {numbers}"


def test_complex_and_text_variables_of_matlab(refused, tmp_path):
    import scipy.io

    scipy.io.savemat(tmp_path / "x.mat", {"z": np.ones((2, 2)) * 1j, "a": np.eye(3), "c": np.array(["ab"])})
    assert open_rows(tmp_path / "x.mat", name="targets").source == f"{tmp_path}/x.mat::a"
    assert refused("x.mat::z").startswith("targets: x.mat::z holds complex numbers")
    assert refused("x.mat::c").startswith("targets: x.mat::c holds text")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_ragged_and_missing_vectors(refused, tmp_path, ending):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def write(vectors):
        table = pa.table({"v": pa.array(vectors, pa.list_(pa.float32()))})
        if ending == "parquet":
            parquet.write_table(table, tmp_path / "x.parquet", row_group_size=2)
            return
        with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as file:
            file.write_table(table, max_chunksize=2)

    path = f"x.{ending}"
    write([[1, 2], [3, 4], [5, 6], [7]])
    assert refused(path) == (
        f"targets: {path} has vectors of different lengths in column 'v': row 3 has 1 numbers, row 0 has 2 "
        "(rows count from 0); make all equally long."
    )
    write([[1, 2], [3, 4], [5, 6], None])
    assert refused(path) == (
        f"targets: {path} has no vector in row 3 of column 'v' (rows count from 0); fill or drop it."
    )
    write([[1, 2], [3, 4], [5, None], [7, 8]])
    missing = f"targets: {path} has a missing number in row 2 of column 'v' (rows count from 0); fill or drop it."
    if ending == "arrow":
        assert refused(path) == missing
    write([])
    assert refused(path) == f"targets: {path}::v has shape (0, 0): there are no rows; give at least one."


def test_lengths_that_only_agree_on_average_are_found_when_they_are_read(sentence, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"v": pa.array([[1, 2], [3, 4], [5], [6, 7, 8]], pa.list_(pa.float32()))})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    rows = open_rows(tmp_path / "x.parquet", name="targets")
    assert rows[:2].tolist() == [[1, 2], [3, 4]]
    assert "row 2 has 1 numbers, row 0 has 2" in sentence(rows.__getitem__, slice(0, 4))


def test_a_table_without_vectors(refused, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "x.parquet")
    assert refused("x.parquet") == ("targets: x.parquet holds no matrices of numbers; it has: a (2,), b (2,).")


def test_the_first_feather_version(refused, tmp_path):
    (tmp_path / "x.feather").write_bytes(b"FEA1" + b"\0" * 20)
    assert refused("x.feather") == (
        "targets: x.feather is of the first feather version; write it again with pyarrow.feather.write_feather."
    )


def test_a_lying_header_is_not_believed(refused, tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (10**12, 512)}
        np.lib.format.write_array_header_1_0(file, header)
    assert "is cut short: 2,048,000,000,000,128 bytes expected but 128 found" in refused("x.npy")


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    import sys

    from unhub.foundation.errors import MissingDependencyError

    (tmp_path / "x.h5").write_bytes(b"something")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'unhub\[files\]'"):
        open_rows(tmp_path / "x.h5", name="targets")
