"""Small files that promise much: what they say is compared with the memory before anything is loaded."""

from __future__ import annotations

import json
import pickle
import struct
import tarfile
import tomllib
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from unhub.foundation.errors import MissingDependencyError
from unhub.io import limits, open_rows, read_ids, read_relevance
from unhub.io.address import Address
from unhub.io.torch_file import OLDEST_TORCH

MEMORY = 1 << 20


@pytest.fixture
def little(monkeypatch):
    """A machine with one megabyte of memory."""
    monkeypatch.setattr(limits, "default_memory", lambda: MEMORY // 2)


@pytest.fixture
def refused(sentence, tmp_path):
    return lambda name: sentence(open_rows, f"{tmp_path}/{name}", name="targets")


ADVICE = "if that is right, convert it to .npy, which is read in blocks."


def test_an_archive_of_zeros(little, refused, tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros((4000, 1000), np.float32), b=np.eye(3, dtype=np.float32))
    told = refused("x.npz::a")
    assert told.startswith("targets: x.npz::a would take 16 MB of memory, from a file of 1")
    assert told.endswith(f" kB, and 1 MB are free; {ADVICE}")
    np.testing.assert_array_equal(open_rows(f"{tmp_path}/x.npz::b", name="targets")[:], np.eye(3))


def header(shape, version=b"\x01\x00"):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (64 - (len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H" if version[0] == 1 else "<I", len(text)) + text


def test_an_archive_whose_directory_lies(refused, tmp_path):
    """The header of the array promises 400 GB, the directory of the archive 50 MB, and there are ten bytes."""
    data = header((100_000, 1_000_000)) + b"0" * 10
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", data)
    assert refused("x.npz").startswith("targets: x.npz is cut short: 400,000,000,128 bytes expected but 138 found")
    whole = (tmp_path / "x.npz").read_bytes()
    place = whole.index(b"PK\x01\x02") + 24  # the size that the directory gives
    (tmp_path / "x.npz").write_bytes(whole[:place] + struct.pack("<I", 50_000_000) + whole[place + 4 :])
    assert "bytes expected but 50,000,000 found" in refused("x.npz")


def test_more_in_an_archive_than_its_directory_says(refused, tmp_path):
    """Nothing beyond what the directory says is unpacked."""
    data = header((10, 10)) + bytes(400)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", data + bytes(100_000_000))
    assert "a.npy is longer than its header promises" in refused("x.npz")


def test_a_header_that_is_too_long_to_be_one(refused, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 60_000_000) + b" " * 60_000_000)
    assert "its header is longer than 10,000 bytes" in refused("x.npz")


def test_another_compression(refused, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.npy", header((10, 10)) + bytes(400))
    assert "a.npy is compressed in a way that numpy.savez never uses" in refused("x.npz")


def test_a_torch_archive_that_unpacks_to_much(little, refused, tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.zeros(2000, 1000), tmp_path / "y.pt")
    packed = tmp_path / "x.pt"
    with zipfile.ZipFile(tmp_path / "y.pt") as plain, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in plain.infolist():
            archive.writestr(member.filename, plain.read(member))
    assert packed.stat().st_size < 20_000
    assert refused("x.pt").startswith("targets: x.pt would take 8 MB of memory, from a file of ")


def test_a_tensor_that_shows_one_number_very_often(little, refused, tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.ones(1).expand(1_000_000, 512), tmp_path / "x.pt")
    assert refused("x.pt").startswith("targets: x.pt would take 2.0 GB of memory, from a file of 1")


def rewritten(path, change):
    """A torch file with another pickle."""
    with zipfile.ZipFile(path) as plain:
        members = {member.filename: plain.read(member) for member in plain.infolist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, change(data) if name.endswith("data.pkl") else data)


def test_a_storage_that_is_shorter_than_its_tensor_says(refused, tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.ones(10, 10), tmp_path / "x.pt")
    rewritten(tmp_path / "x.pt", lambda data: data.replace(b"K\x64", b"J\x00\x00\x00\x01", 1))
    assert refused("x.pt") == (
        "targets: x.pt is cut short: 67,108,864 bytes expected but 400 found; write or copy it again."
    )


def test_what_torch_would_make_of_a_length_alone(refused, tmp_path):
    torch = pytest.importorskip("torch")
    for name, text, said in (
        ("a", b"\x80\x02cbuiltins\nbytearray\n\x8a\x05\x00\x00\x00\x00\x02\x85R.", "a bytearray of a length alone"),
        ("b", b"\x80\x02ctorch\nFloatTensor\n\x8a\x05\x00\x00\x00\x00\x02\x85R.", "it calls torch.FloatTensor"),
        ("c", b"\x80\x02K\x01r\xff\xff\xff\x7f.", "it stores a value under the number 2,147,483,647 after 3 opcodes"),
    ):
        torch.save(torch.ones(2, 2), tmp_path / f"{name}.pt")
        rewritten(tmp_path / f"{name}.pt", lambda data, text=text: text)
        assert said in refused(f"{name}.pt")


def test_an_old_torch_file_without_its_numbers(refused, tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.ones(10, 10), tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    np.testing.assert_array_equal(open_rows(tmp_path / "x.pt", name="targets")[:], np.ones((10, 10)))
    data = (tmp_path / "x.pt").read_bytes()
    (tmp_path / "x.pt").write_bytes(data.replace(b"K\x64N", b"J\x00\x00\x00\x01N", 1))
    assert refused("x.pt").startswith("targets: x.pt is cut short: 67,108,864 bytes expected but ")


def test_state_dictionaries_and_parameters_are_still_read(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    for number, value in enumerate((model.state_dict(), {"w": model[0].weight, "n": {1, 2}, "b": bytearray(b"x")})):
        torch.save(value, tmp_path / f"{number}.pt")
        rows = open_rows(f"{tmp_path / str(number)}.pt", name="targets")
        np.testing.assert_array_equal(rows[:], model[0].weight.detach().numpy())


def mat(elements):
    """A MATLAB file of one compressed matrix."""
    whole = struct.pack("<II", 14, len(elements)) + elements
    packed = zlib.compress(whole)
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(packed)) + packed


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def matrix(kind, shape, name, data):
    flags = element(6, struct.pack("<II", kind, 0))
    return flags + element(5, struct.pack("<ii", *shape)) + element(1, name) + data


def test_a_matlab_matrix_of_zeros(little, refused, tmp_path):
    (tmp_path / "x.mat").write_bytes(mat(matrix(6, (1000, 4000), b"a", element(9, bytes(32_000_000)))))
    assert (tmp_path / "x.mat").stat().st_size < 40_000
    assert refused("x.mat").startswith("targets: x.mat would take 32 MB of memory, from a file of ")


def test_matlab_text_that_is_not_there(refused, tmp_path, monkeypatch):
    """SciPy would make blanks of as many characters as the shape says."""
    monkeypatch.setattr(limits, "default_memory", lambda: 1 << 30)
    (tmp_path / "x.mat").write_bytes(mat(matrix(4, (1, 2_000_000_000), b"ids", element(16, b""))))
    assert refused("x.mat").startswith("targets: x.mat would take 8.0 GB of memory, from a file of ")


def nested(depth):
    return "[" * depth + "1" + "]" * depth


@pytest.mark.parametrize("depth", [50, 500, 100_000])
def test_ids_that_are_nested(sentence, tmp_path, depth):
    (tmp_path / "x.json").write_text(f'["a", {nested(depth)}]')
    told = sentence(read_ids, tmp_path / "x.json")
    known = (
        "ids: x.json has [[[[...]]]] as id of row 1 (rows count from 0); give text or a number.",
        "ids: x.json is nested too deeply; write a plain list or object.",
    )
    assert told == known[depth > 1000] or told in known
    told = sentence(read_relevance, tmp_path / "x.json", queries=2, targets=2)
    assert len(told) < 400


def test_ids_in_memory_that_are_nested(sentence):
    assert sentence(read_ids, ["a", json.loads(nested(100))]) == (
        "ids has [[[[...]]]] as id of row 1 (rows count from 0); give text or a number."
    )


def test_a_text_that_does_not_fit_into_memory(little, sentence, tmp_path):
    with open(tmp_path / "x.txt", "wb") as file:
        file.truncate(1 << 30)
    assert sentence(read_ids, tmp_path / "x.txt").startswith("ids: x.txt would take 4.3 GB of memory")


def test_a_stack_of_matrices_in_fortran_order(tmp_path):
    values = np.arange(24.0).reshape(2, 3, 4)
    np.save(tmp_path / "x.npy", np.asfortranarray(values))
    np.testing.assert_array_equal(open_rows(f"{tmp_path}/x.npy::1", name="targets")[:], values[1])
    assert pickle.loads(pickle.dumps(open_rows(f"{tmp_path}/x.npy::1", name="targets")))[:].shape == (3, 4)


def test_columns_first_in_blocks(tmp_path):
    values = np.arange(120.0).reshape(30, 4)
    np.save(tmp_path / "x.npy", np.asfortranarray(values))
    rows = open_rows(tmp_path / "x.npy", name="targets")
    for start, stop in ((0, 30), (3, 9), (29, 30), (5, 5)):
        np.testing.assert_array_equal(rows[start:stop], values[start:stop])


def test_scattered_rows_of_a_file(tmp_path):
    values = np.arange(4000.0).reshape(1000, 4)
    np.save(tmp_path / "x.npy", values)
    data = open_rows(tmp_path / "x.npy", name="targets").data
    for wanted in ([3, 1, 2], [999, 0], [], [5, 5]):
        places = np.array(wanted, dtype=np.int64)
        np.testing.assert_array_equal(data[places], values[places])


def test_a_member_that_says_it_unpacks_to_more_than_it_can(refused, tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros((2, 2), np.float32))
    whole = bytearray((tmp_path / "x.npz").read_bytes())
    at = whole.rfind(b"PK\x01\x02") + 24  # the unpacked size in the directory of the archive
    whole[at : at + 4] = (3_900_000_000).to_bytes(4, "little")
    (tmp_path / "x.npz").write_bytes(whole)
    assert "a.npy declares that it unpacks to more than its bytes can become" in refused("x.npz")


LENGTH_ALONE = b"\x80\x02cbuiltins\nbytearray\n\x8a\x05\x00\x00\x00\x00\x02\x85R."


def old_torch(value: bytes) -> bytes:
    """A file of torch's old format: four pickles around the value."""
    before = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}]
    return b"".join(pickle.dumps(each, 2) for each in before) + value + pickle.dumps([], 2)


def test_an_old_torch_file_that_ends_like_an_archive(refused, tmp_path):
    """Torch looks at the first bytes of a file, and so is the file looked at."""
    pytest.importorskip("torch")
    (tmp_path / "x.pt").write_bytes(old_torch(LENGTH_ALONE))
    with zipfile.ZipFile(tmp_path / "x.pt", "a"):
        pass
    assert zipfile.is_zipfile(tmp_path / "x.pt")
    assert "reason: it asks for a bytearray of a length alone" in refused("x.pt")


def test_an_old_torch_file_that_begins_like_a_tar(refused, tmp_path):
    """Its first member is called like five pickles; torch tries tar before it reads any."""
    pytest.importorskip("torch")
    with tarfile.open(tmp_path / "x.pt", "w", encoding="latin-1", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("K\x01." * 5))
    assert "reason: it is a tar archive, which torch has not written since 2017" in refused("x.pt")


def tables(tmp_path, rows, compression="zstd"):
    """The same table as a parquet file with one row group, an Arrow file and a stream."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = pa.FixedSizeListArray.from_arrays(np.ones(rows * 64, np.float32), 64)
    table = pa.table({"v": values})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=rows, compression=compression)
    options = pa.ipc.IpcWriteOptions(compression=compression)
    for name, writer in (("x.arrow", pa.ipc.new_file), ("x.ipc", pa.ipc.new_stream)):
        with writer(tmp_path / name, table.schema, options=options) as file:
            file.write_table(table)


TABLES = {
    "x.parquet": "targets: x.parquet cannot be read for ::v: a single row group of it takes 5 MB of memory, and unhub "
    "uses at most 524 kB here; write it in smaller pieces.",
    "x.arrow": "targets: x.arrow cannot be read: a single batch of it takes 5 MB of memory, and unhub uses at most "
    "524 kB here; write it in smaller pieces.",
    "x.ipc": "targets: x.ipc would take 5 MB of memory, from a file of ",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_equal_numbers(little, refused, tmp_path, name):
    tables(tmp_path, 20_000)
    assert (tmp_path / name).stat().st_size < 10_000
    assert refused(name).startswith(TABLES[name])


@pytest.mark.parametrize("name", TABLES)
def test_a_long_table_in_small_pieces_is_read(little, tmp_path, name):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = 2_000 if name == "x.ipc" else 20_000
    numbers = np.arange(rows * 64, dtype=np.float32)
    table = pa.table({"v": pa.FixedSizeListArray.from_arrays(numbers, 64)})
    if name == "x.parquet":
        parquet.write_table(table, tmp_path / name, row_group_size=1000)
    else:
        with (pa.ipc.new_file if name == "x.arrow" else pa.ipc.new_stream)(tmp_path / name, table.schema) as file:
            file.write_table(table, max_chunksize=1000)
    np.testing.assert_array_equal(open_rows(tmp_path / name, name="targets")[:], numbers.reshape(rows, 64))


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_ids_that_are_one_long_text(little, refused, tmp_path, name):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, np.int32)), pa.array(["x" * 20_000]))
    vectors = pa.FixedSizeListArray.from_arrays(np.ones(2000, np.float32), 2)
    table = pa.table({"v": vectors, "id": text})
    if name == "x.parquet":
        parquet.write_table(table.cast(pa.schema([table.schema.field("v"), ("id", pa.string())])), tmp_path / name)
    else:
        with pa.ipc.new_file(tmp_path / name, table.schema) as file:
            file.write_table(table)
    assert refused(name).startswith(f"targets: {name} cannot be read for ::id: read whole, it takes 20 MB of memory")


def test_an_older_torch_is_refused(sentence, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    torch.save(torch.ones(2, 2), tmp_path / "x.pt")
    monkeypatch.setattr(torch, "__version__", "2.9.1+cpu")
    with pytest.raises(MissingDependencyError) as caught:
        open_rows(tmp_path / "x.pt", name="targets")
    assert str(caught.value) == (
        "torch 2.9.1+cpu is installed, and 2.10 or later is needed here: torch.load of older ones can run code in "
        "a file, even with weights_only (CVE-2025-32434, CVE-2026-24747); install it with: pip install -U "
        "'unhub[torch]'"
    )
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert declared["project"]["optional-dependencies"]["torch"] == [f"torch>={OLDEST_TORCH}"]


def test_a_reader_whose_words_hold_control_characters(tmp_path):
    address = Address("targets", tmp_path / "x.parquet")
    told = str(address.damaged("parquet", ValueError("don't know what type: \x0f\x1b[2J")))
    assert told.endswith("(reason: don't know what type: \\x0f\\x1b[2J).")
    assert str(address.problem("has no part 'v'; it has: vect\x00s.")).endswith("it has: vect\\x00s.")
