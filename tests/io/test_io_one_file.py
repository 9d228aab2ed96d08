"""One open file from its header to its last number, and nothing left open behind it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from unhub import InputError
from unhub.experiments.importing.reading import Opener
from unhub.io import arrays, file_array, npy, open_rows, safetensors_file

OLD, NEW = np.zeros((6, 4), np.float32), np.ones((3, 8), np.float32)
CHANGED = "was changed while it was being read; start again when nothing writes to it."


def write_npy(path, array):
    np.save(path, array)


def write_safetensors(path, array):
    pytest.importorskip("safetensors.numpy").save_file({"a": array}, path)


@pytest.mark.parametrize(
    ("ending", "write", "module"), [("npy", write_npy, npy), ("safetensors", write_safetensors, safetensors_file)]
)
def test_a_file_that_is_replaced_while_it_is_opened(tmp_path, monkeypatch, ending, write, module):
    path, other = tmp_path / f"x.{ending}", tmp_path / f"y.{ending}"
    write(path, OLD)
    write(other, NEW)

    class Replaced(file_array.OpenFile):
        def __init__(self, *address):
            super().__init__(*address)
            os.replace(other, path)

    monkeypatch.setattr(module, "OpenFile", Replaced)
    if ending == "npy":
        np.testing.assert_array_equal(open_rows(path, name="targets")[:], OLD)
    else:
        with pytest.raises(InputError, match=CHANGED):
            open_rows(path, name="targets")
    np.testing.assert_array_equal(open_rows(tmp_path / f"x.{ending}", name="targets")[:], NEW) if other.exists() else 0


def test_a_stack_that_is_replaced_while_it_is_imported(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", OLD.reshape(2, 3, 4))
    np.save(tmp_path / "y.npy", NEW.reshape(1, 3, 8))
    read = npy.read_header

    def replaced(file):
        header = read(file)
        if (tmp_path / "y.npy").exists():
            os.replace(tmp_path / "y.npy", tmp_path / "x.npy")
        return header

    monkeypatch.setattr(npy, "read_header", replaced)
    found = Opener().array(str(tmp_path / "x.npy"), "scores", dims=(3,))
    np.testing.assert_array_equal(np.asarray(found.array), OLD.reshape(2, 3, 4))


def test_nothing_is_left_open(tmp_path):
    np.save(tmp_path / "x.npy", OLD)
    write_safetensors(tmp_path / "x.safetensors", OLD)
    program = (
        "import os, gc, sys; from unhub.io import open_rows\n"
        "before = len(os.listdir('/proc/self/fd')) if os.path.exists('/proc/self/fd') else 0\n"
        "for path in sys.argv[1:]:\n"
        "    rows = open_rows(path, name='targets'); rows[:]; rows.data.load()\n"
        "    assert not before or len(os.listdir('/proc/self/fd')) == before, 'kept open'\n"
        "    rows = open_rows(path, name='targets')\n"
        "    del rows; gc.collect()\n"
        "    assert not before or len(os.listdir('/proc/self/fd')) == before, 'left open'\n"
    )
    paths = [str(tmp_path / "x.npy"), str(tmp_path / "x.safetensors")]
    ended = subprocess.run([sys.executable, "-X", "dev", "-c", program, *paths], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "ResourceWarning" not in ended.stderr


def test_an_array_travels_to_a_machine_that_numbers_files_differently(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", OLD)
    sent = pickle.dumps(open_rows(tmp_path / "x.npy", name="targets").data)
    real = file_array.stamp_of
    monkeypatch.setattr(file_array, "stamp_of", lambda facts: real(facts)._replace(device=7, inode=7))
    np.testing.assert_array_equal(pickle.loads(sent)[:], OLD)
    np.save(tmp_path / "x.npy", NEW)
    with pytest.raises(InputError, match=CHANGED):
        pickle.loads(sent)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what is mapped")
def test_a_map_whose_device_has_another_number(tmp_path, monkeypatch):
    """As on btrfs and overlayfs."""
    np.save(tmp_path / "x.npy", OLD)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    lines = [line.split(maxsplit=5) for line in arrays._MAPS.read_text().splitlines()]
    (tmp_path / "maps").write_text("".join(" ".join((*each[:3], "00:99", *each[4:])) + "\n" for each in lines))
    monkeypatch.setattr(arrays, "_MAPS", tmp_path / "maps")
    assert isinstance(open_rows(mapped, name="targets").data, file_array.FileArray)
    monkeypatch.undo()
    np.save(tmp_path / "y.npy", OLD + 1)
    os.replace(tmp_path / "y.npy", tmp_path / "x.npy")
    assert not isinstance(open_rows(mapped, name="targets").data, file_array.FileArray)


def test_files_of_one_reader_share_its_memory(tmp_path):
    from unhub.dataset.reader import Reader, kept_bytes

    rows = np.eye(64, 64, dtype=np.float32)
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", rows)
    reader = Reader(memory=int(rows.nbytes * 3.5))
    opened = [reader.vectors(tmp_path / f"{name}.npy", name) for name in "abc"]
    assert [bool(kept_bytes(each)) for each in opened] == [True, False, False]
    assert pickle.loads(pickle.dumps(reader)) == reader
    assert replace(reader, normalize=True).files is reader.files
    del opened
    assert kept_bytes(reader.vectors(tmp_path / "b.npy", "b"))
