"""An HDF5 file from someone else: it cannot hang, crash, fill the memory or read other files."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

from unhub.foundation import probing
from unhub.foundation.errors import InputError, UnhubError
from unhub.io import hdf5, hdf5_probe, limits, open_rows
from unhub.io.address import find

h5py = pytest.importorskip("h5py")


@pytest.fixture
def looping(store):
    """A file in whose heap of texts HDF5 loops for ever: the free space at its end is said to be zero bytes long."""
    path = store("hdf5")
    data = bytearray(path.read_bytes())
    place = data.index(b"GCOL") + 16
    while True:
        number, length = struct.unpack_from("<H6xQ", data, place)
        if number == 0:
            break
        place += 16 + (length + 7) // 8 * 8
    struct.pack_into("<Q", data, place + 8, 0)
    path.write_bytes(data)
    return path


def test_a_file_in_which_hdf5_loops(looping, sentence, monkeypatch):
    monkeypatch.setattr(probing, "SECONDS", 2.0)
    assert sentence(open_rows, looping, name="targets") == (
        f"targets: x.h5 cannot be read as HDF5: it is cut short or damaged ({looping.stat().st_size:,} bytes); write "
        "or copy it again (reason: reading it did not end within 2 s of processor time)."
    )


def test_control_c_ends_the_waiting(looping):
    """The parent waits in Python, and takes the child along."""
    program = "import sys, unhub.io; print('reading', flush=True); unhub.io.open_rows(sys.argv[1], name='targets')"
    command = [sys.executable, "-c", program, str(looping)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        time.sleep(1.5)
        assert reader.poll() is None
        reader.send_signal(signal.SIGINT)
        _, told = reader.communicate(timeout=15)
    assert told.rstrip().endswith("KeyboardInterrupt")


def test_a_reader_that_crashes_is_a_sentence(store, sentence, monkeypatch, tmp_path):
    crash = tmp_path / "crash.py"
    crash.write_text("import os, signal\n\ndef probe(**request):\n    os.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setattr(hdf5, "_PROBE", crash)
    assert "(reason: the reader crashed: SIGSEGV)" in sentence(open_rows, store("hdf5"), name="targets")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_a_reader_that_fills_the_memory_is_a_sentence(store, sentence, monkeypatch, tmp_path):
    greedy = tmp_path / "greedy.py"
    greedy.write_text("def probe(**request):\n    return len(bytearray(1 << 45))\n")
    monkeypatch.setattr(hdf5, "_PROBE", greedy)
    assert "it is damaged or does not fit in memory" in sentence(open_rows, store("hdf5"), name="targets")


def test_a_file_is_looked_at_once_until_it_changes(store, monkeypatch):
    asked = []
    ask = hdf5._ask
    monkeypatch.setattr(hdf5, "_ask", lambda *question, **text: asked.append(text) or ask(*question, **text))
    path = store("hdf5 group")
    for _ in range(2):
        open_rows(path, name="targets")
    assert asked == [{}, {"text": "train/ids"}, {"text": "train/ids"}]
    os.utime(path, ns=(1, 1))
    open_rows(path, name="targets")
    assert asked.count({}) == 2


def test_a_few_bytes_do_not_declare_gigabytes(tmp_path, sentence):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("v", shape=(10**6, 10**6), dtype="f4", chunks=(1000, 1000), compression="gzip")
    assert (tmp_path / "x.h5").stat().st_size < 1500
    assert sentence(open_rows, tmp_path / "x.h5", name="targets") == (
        "targets: x.h5 declares 4.0 TB for ::v but holds 0 bytes: it was never filled, or is damaged; write it again."
    )


def test_what_fits_in_memory_may_be_empty_on_disk(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("v", shape=(1000, 50), dtype="f4", chunks=(10, 50), compression="gzip", fillvalue=7)
    assert (open_rows(tmp_path / "x.h5", name="targets")[3:5] == 7).all()


def test_chunks_and_columns_larger_than_memory(tmp_path, sentence, monkeypatch):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("v", data=np.zeros((1000, 500), "f4"), chunks=(1000, 500))
    monkeypatch.setattr(limits, "default_memory", lambda: 10**6)
    assert sentence(open_rows, tmp_path / "x.h5", name="targets") == (
        "targets: x.h5 cannot be read for ::v: a single chunk of it takes 2 MB of memory, and unhub uses at most 1 MB "
        "here; write it in smaller pieces."
    )


@pytest.mark.parametrize("method", [{"compression": "gzip"}, {"compression": "lzf"}, {"scaleoffset": 3}])
def test_honest_filters_are_read_even_where_every_chunk_is_tried_first(tmp_path, monkeypatch, method):
    whole = np.round(np.random.default_rng(0).standard_normal((100, 20)), 3)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("v", data=whole, chunks=(10, 20), shuffle=True, fletcher32=len(method) == 0, **method)
    monkeypatch.setattr(hdf5, "default_memory", lambda: 20_000)
    np.testing.assert_allclose(open_rows(tmp_path / "x.h5", name="targets")[:], whole, atol=1e-3)


def test_other_files_are_never_read(tmp_path, sentence):
    secret = np.eye(4, dtype="f4")
    secret.tofile(tmp_path / "secret.bin")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["v"] = secret
    with h5py.File(tmp_path / "external.h5", "w") as file:
        file.create_dataset("v", (4, 4), "f4", external=[(str(tmp_path / "secret.bin"), 0, 64)])
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout((4, 4), "f4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "v", (4, 4))
        file.create_virtual_dataset("v", layout)
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["v"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "v")
    advice = "and that is never read; write it again as a plain dataset, without compression or with gzip."
    assert sentence(open_rows, tmp_path / "external.h5", name="targets") == (
        f"targets: external.h5 has a dataset 'v' that stores its numbers in other files (external storage), {advice}"
    )
    assert sentence(open_rows, tmp_path / "virtual.h5", name="targets") == (
        f"targets: virtual.h5 has a dataset 'v' that is put together from other files (a virtual dataset), {advice}"
    )
    assert sentence(open_rows, tmp_path / "link.h5", name="targets") == (
        "targets: link.h5 holds no arrays; write matrices of numbers into it."
    )


def test_a_filter_that_is_not_known_is_named(tmp_path, sentence):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_chunk((2, 2))
        plan.set_filter(h5py.h5z.FILTER_DEFLATE, 0, (4,))
        space, kind = h5py.h5s.create_simple((4, 4)), h5py.h5t.NATIVE_FLOAT
        h5py.h5d.create(file.id, b"v", kind, space, plan)
        file["w"] = np.eye(3)
    data = (tmp_path / "x.h5").read_bytes()
    assert data.count(b"deflate") == 1
    place = data.index(b"deflate") - 8  # number, length of the name, flags, count of settings
    changed = bytearray(data)
    struct.pack_into("<H", changed, place, 32001)
    (tmp_path / "x.h5").write_bytes(changed)
    assert "has a dataset 'v' that is packed by a filter that is not read (deflate, number 32001)" in sentence(
        open_rows, f"{tmp_path}/x.h5::v", name="targets"
    )
    np.testing.assert_array_equal(open_rows(f"{tmp_path}/x.h5::w", name="targets")[:], np.eye(3))


def test_texts_that_are_one_text_over_and_over(tmp_path, sentence):
    """A thousand references to one long text in the heap: small on disk, large in memory."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["vectors"] = np.eye(1000, 2, dtype="f4")
        file.create_dataset("ids", data=["x" * 1000, *map(str, range(999))], dtype=h5py.string_dtype())
        place = file["ids"].id.get_offset()
    data = bytearray((tmp_path / "x.h5").read_bytes())
    data[place : place + 16 * 1000] = bytes(data[place : place + 16]) * 1000
    (tmp_path / "x.h5").write_bytes(data)
    assert "its texts are longer than the whole file" in sentence(open_rows, tmp_path / "x.h5", name="targets")


def test_matlab_files_of_version_7_3_take_the_same_way(tmp_path, sentence):
    with h5py.File(tmp_path / "x.mat", "w", userblock_size=512) as file:
        made = file.create_dataset("v", shape=(10**6, 10**6), dtype="f4", chunks=(1000, 1000))
        made.attrs["MATLAB_class"] = np.bytes_("single")
    assert "declares 4.0 TB for ::v but holds 0 bytes" in sentence(open_rows, tmp_path / "x.mat", name="targets")


def test_cycles_end(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a/v"] = np.eye(3)
        file["a/b"] = file["a"]
    np.testing.assert_array_equal(open_rows(tmp_path / "x.h5", name="targets")[:], np.eye(3))


def test_a_name_with_a_slash_does_not_lead_into_another_file(tmp_path, sentence):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["d"] = np.eye(4)
    with h5py.File(tmp_path / "x.h5", "w", libver="earliest") as file:
        file["eXd"] = np.zeros((3, 4))
        file["e"] = h5py.ExternalLink("other.h5", "/")
    data = (tmp_path / "x.h5").read_bytes()
    (tmp_path / "x.h5").write_bytes(data.replace(b"eXd", b"e/d"))
    told = sentence(open_rows, tmp_path / "x.h5", name="targets")
    assert "(reason: a link in it has the name b'e/d', which can lead elsewhere)" in told


def test_two_links_of_one_name_do_not_lead_into_another_file(tmp_path, sentence):
    """A group and an external link: HDF5 lists the group, and looks the link up."""
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["d"] = np.eye(4)
    with h5py.File(tmp_path / "x.h5", "w", libver="earliest") as file:
        file["eX/d"] = np.zeros((3, 4))
        file["eY"] = h5py.ExternalLink("other.h5", "/")
    data = (tmp_path / "x.h5").read_bytes()
    for one, other in ((b"eX", b"eY"), (b"eY", b"eX")):
        (tmp_path / "x.h5").write_bytes(data.replace(one, other))
        try:
            outcome = str(open_rows(tmp_path / "x.h5", name="targets").shape)
        except InputError as told:
            outcome = str(told)
        assert outcome == "(3, 4)" or "a link in it leads to another file" in outcome


@pytest.mark.parametrize("kind", [h5py.vlen_dtype("i4"), h5py.ref_dtype, np.dtype([("a", h5py.vlen_dtype("f4"))])])
def test_lists_and_references_are_not_read(tmp_path, sentence, kind):
    """They are in the heap in which HDF5 can loop for ever, and would be read where Ctrl-C does not help."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["vectors"] = np.eye(3)
        file.create_dataset("ids", (3,), dtype=kind)
    advice = "and that is never read; write it again as a plain dataset, without compression or with gzip."
    if kind.names is None:
        assert sentence(open_rows, tmp_path / "x.h5", name="targets") == (
            f"targets: x.h5 has a dataset 'ids' that holds lists or references and neither numbers nor text, {advice}"
        )
    else:  # records are never ids
        assert open_rows(tmp_path / "x.h5", name="targets").ids is None
    assert hdf5.datasets(find(tmp_path / "x.h5", name="targets"))["ids"].facts["problem"] is not None


def test_where_no_child_can_be_started(store, monkeypatch):
    """A frozen application: the file is not called damaged."""
    path = store("hdf5")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(UnhubError) as caught:
        open_rows(path, name="targets")
    assert str(caught.value) == probing.NO_CHILD


def test_chunks_are_listed_where_h5py_cannot_walk_them(tmp_path):
    """As h5py does that was built with an older HDF5."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        made = file.create_dataset("a", data=np.ones((64, 4)), chunks=(16, 4), compression="gzip")

        class Old:
            """The identifier of a dataset, without chunk_iter."""

            get_num_chunks, get_chunk_info = made.id.get_num_chunks, made.id.get_chunk_info

        class Listed:
            id, chunks, read = Old(), made.chunks, []

            def __getitem__(self, place):
                self.read.append(place[0].start)
                return made[place]

        hdf5_probe._try_chunks(Listed(), [1], ratio=1032, limit=1)
        assert sorted(Listed.read) == [0, 16, 32, 48]
