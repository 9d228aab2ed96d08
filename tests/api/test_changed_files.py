"""Vectors that change on disk or in memory while a fit reads them, or after it: an error, never a wrong bias."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from reference.problems import unit_vectors

import unhub
from unhub.dataset.reader import Reader, kept_bytes
from unhub.io import FileArray, open_rows

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

ROWS, GALLERY, DIM = 600, 200, 8
SMALL = 12_000
"""bytes of memory so few that no file is read whole"""

LONG_AGO = 1_000_000_000 * 10**9
"""nanoseconds: the time of every file that a test writes, so that a change always shows"""


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    made = {}
    for name, rows in {"targets": GALLERY, "query_bank": ROWS, "target_bank": ROWS}.items():
        made[name] = tmp_path / f"{name}.npy"
        np.save(made[name], unit_vectors(rng, rows, DIM))
        os.utime(made[name], ns=(LONG_AGO, LONG_AGO))
    return made


def others(rows):
    return unit_vectors(np.random.default_rng(1), rows, DIM)


def rewrite(path):
    """Other vectors of the same shape, into the same file."""
    values = np.load(path)
    with open(path, "r+b") as file:
        file.seek(-values.nbytes, os.SEEK_END)
        file.write(others(len(values)).tobytes())


def truncate(path):
    os.truncate(path, 200)


def replace(path):
    """Another file under the same name."""
    np.save(path.with_suffix(".new.npy"), others(len(np.load(path))))
    path.with_suffix(".new.npy").replace(path)


def once(action, *given):
    """A progress callback that acts at its first call, in the middle of the reading."""
    left = [action]

    def progress(work, done, total):
        if left:
            left.pop()(*given)

    return progress


def refused(tmp_path, call, *given, **options):
    with pytest.raises(unhub.InputError) as caught:
        call(*given, **options)
    return str(caught.value).replace(f"{tmp_path}/", "")


WAYS = {"sn": ("targets", "query_bank"), "is": ("targets", "query_bank"), "dbsn": ("query_bank", "target_bank")}


@pytest.mark.parametrize("change", [rewrite, truncate])
@pytest.mark.parametrize(("name", "part"), [(name, part) for name, parts in WAYS.items() for part in parts])
def test_a_file_that_changes_during_a_fit_gives_no_correction(files, tmp_path, name, part, change):
    given = {each: files[each] for each in ("targets", "query_bank", *WAYS[name])}
    told = refused(tmp_path, unhub.fit, name, **given, memory=SMALL, progress=once(change, files[part]))
    assert told == f"{part}: {part}.npy was changed while it was being read; start again when nothing writes to it."


def test_a_change_that_leaves_no_time_behind_is_found_by_the_digest(files, tmp_path):
    """As a tool does that restores the time of the file."""

    def quietly(path):
        rewrite(path)
        os.utime(path, ns=(LONG_AGO, LONG_AGO))

    progress = once(quietly, files["query_bank"])
    given = {"targets": files["targets"], "query_bank": files["query_bank"]}
    told = refused(tmp_path, unhub.fit, "sn", **given, memory=SMALL, progress=progress)
    assert told == "query_bank: query_bank.npy changed during the fit; fit again when nothing writes to it."


@pytest.mark.parametrize("memory", [None, SMALL])
def test_a_file_that_is_replaced_during_a_fit_is_read_to_its_end(files, memory):
    """What was opened is still there: the fit and what is saved of it are of the file that was named."""
    given = {"targets": files["targets"], "query_bank": files["query_bank"]}
    expected = unhub.fit("sn", **given, memory=memory)
    before = np.load(files["query_bank"])
    found = unhub.fit("sn", **given, memory=memory, progress=once(replace, files["query_bank"]))
    np.testing.assert_array_equal(found.bias, expected.bias)
    np.testing.assert_array_equal(found.query_bank[:], before)


def test_what_was_read_whole_does_not_change_with_the_file(files, tmp_path):
    given = {"targets": files["targets"], "query_bank": files["query_bank"]}
    expected, before = unhub.fit("sn", **given), np.load(files["query_bank"])
    found = unhub.fit("sn", **given, progress=once(truncate, files["query_bank"]))
    np.testing.assert_array_equal(found.bias, expected.bias)
    found.save(tmp_path / "x.unhub")
    np.testing.assert_array_equal(unhub.load(tmp_path / "x.unhub").query_bank[:], before)


@pytest.mark.parametrize("change", [rewrite, truncate])
def test_a_bank_that_changed_since_the_fit_is_neither_saved_nor_extended(files, tmp_path, change):
    correction = unhub.fit("sn", targets=files["targets"], query_bank=files["query_bank"], memory=SMALL)
    change(files["query_bank"])
    told = "query_bank: query_bank.npy was changed while it was being read; start again when nothing writes to it."
    assert refused(tmp_path, correction.save, tmp_path / "x.unhub") == told
    assert refused(tmp_path, correction.extend, others(3)) == told
    assert not (tmp_path / "x.unhub").exists()


def test_an_array_that_changed_since_the_fit_is_neither_saved_nor_extended(tmp_path):
    bank, gallery = others(ROWS), others(GALLERY + 1)[1:]
    correction = unhub.fit("dualis", targets=gallery, query_bank=bank, target_bank=others(50))
    correction.save(tmp_path / "x.unhub")
    correction.extend(others(3))
    bank[7] = bank[8]
    told = "query_bank changed since the fit; fit again."
    assert refused(tmp_path, correction.save, tmp_path / "y.unhub") == told
    assert refused(tmp_path, correction.extend, others(3)) == told
    assert not (tmp_path / "y.unhub").exists()


@pytest.mark.parametrize("part", ["targets", "query_bank"])
def test_an_array_that_changes_during_a_fit(tmp_path, part):
    arrays = {"targets": others(GALLERY), "query_bank": others(ROWS)[::-1].copy()}
    progress = once(lambda: arrays[part].__setitem__(3, arrays[part][4]))
    told = refused(tmp_path, unhub.fit, "sn", **arrays, progress=progress)
    assert told == f"{part} changed during the fit; fit again when nothing writes to it."


@pytest.mark.parametrize("change", [rewrite, truncate])
def test_a_gallery_that_changes_during_a_search(files, tmp_path, change):
    correction = unhub.fit("is", targets=files["targets"], query_bank=files["query_bank"], memory=SMALL)
    change(files["targets"])
    told = refused(tmp_path, correction.search, others(3))
    assert told == "targets: targets.npy was changed while it was being read; start again when nothing writes to it."


@pytest.mark.parametrize("change", [rewrite, truncate])
def test_a_gallery_that_changes_during_an_evaluation(files, tmp_path, change):
    given = {"queries": others(GALLERY), "targets": files["targets"], "relevant": np.arange(GALLERY)}
    progress = once(change, files["targets"])
    told = refused(tmp_path, unhub.evaluate, **given, methods=["none", "is"], memory=SMALL, progress=progress)
    assert told == "targets: targets.npy was changed while it was being read; start again when nothing writes to it."


@pytest.mark.parametrize("change", [rewrite, truncate])
def test_scores_that_change_during_a_fit(tmp_path, change):
    np.save(tmp_path / "scores.npy", others(ROWS) @ others(GALLERY)[::-1].T)
    os.utime(tmp_path / "scores.npy", ns=(LONG_AGO, LONG_AGO))
    told = refused(
        tmp_path, unhub.fit, "sn", scores=tmp_path / "scores.npy", memory=SMALL,
        progress=once(change, tmp_path / "scores.npy"),
    )  # fmt: skip
    assert told == "scores: scores.npy was changed while it was being read; start again when nothing writes to it."


@pytest.mark.parametrize("ending", ["h5", "parquet", "arrow"])
def test_other_formats_that_change_during_a_fit(files, tmp_path, ending):
    path = tmp_path / f"bank.{ending}"
    write(path, others(ROWS))
    os.utime(path, ns=(LONG_AGO, LONG_AGO))
    told = refused(
        tmp_path, unhub.fit, "sn", targets=files["targets"], query_bank=path, memory=SMALL,
        progress=once(os.utime, path),
    )  # fmt: skip
    assert (
        told == f"query_bank: bank.{ending} was changed while it was being read; start again when nothing writes to it."
    )


def write(path, values):
    if path.suffix == ".h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["v"] = values
        return
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"v": pa.FixedSizeListArray.from_arrays(values.ravel(), values.shape[1])})
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=100)
        return
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=100)


CUT = """
import os, sys
import numpy as np, unhub
from unhub.io import open_rows
kind, path, part = sys.argv[1:]
if kind == "map":
    rows = open_rows(np.load(path, mmap_mode="r"), name="targets")
else:
    rows = open_rows(path + part, name="targets")
os.truncate(path, 4096)
try:
    rows[0:len(rows)].sum()
except unhub.InputError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["npy", "fortran", "stack", "safetensors", "bfloat16", "arrow", "map"])
def test_a_file_that_is_cut_while_it_is_open_does_not_end_the_process(tmp_path, kind):
    endings = {"safetensors": "safetensors", "bfloat16": "safetensors", "arrow": "arrow"}
    path, part = tmp_path / f"x.{endings.get(kind, 'npy')}", ""
    values = np.random.default_rng(0).normal(size=(4000, 64)).astype(np.float32)
    if kind == "fortran":
        np.save(path, np.asfortranarray(values))
    elif kind == "stack":
        np.save(path, np.stack([values, values]))
        part = "::1"
    elif kind == "safetensors":
        from safetensors.numpy import save_file

        save_file({"v": values}, path)
    elif kind == "bfloat16":
        torch = pytest.importorskip("torch")
        from safetensors.torch import save_file as save_tensors

        save_tensors({"v": torch.from_numpy(values).bfloat16()}, path)
    elif kind == "arrow":
        write(path, values)
    else:
        np.save(path, values)
    done = subprocess.run([sys.executable, "-c", CUT, kind, path, part], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    assert done.stdout.startswith("targets: ")
    assert "x." in done.stdout
    assert "was changed while it was being read" in done.stdout or kind == "arrow"


def test_an_array_of_a_file_travels_as_its_path(files, tmp_path):
    rows = open_rows(files["targets"], name="targets")
    rows.data.load()
    sent = pickle.dumps(rows)
    assert len(sent) < 1000
    np.testing.assert_array_equal(pickle.loads(sent)[:], np.load(files["targets"]))
    replace(files["targets"])
    told = refused(tmp_path, pickle.loads, sent)
    assert told == "targets: targets.npy was changed while it was being read; start again when nothing writes to it."


def test_small_files_are_read_whole_and_others_block_by_block(files):
    for memory, whole in ((None, True), (SMALL, False)):
        rows = Reader(memory=memory).vectors(files["query_bank"], "query_bank")
        assert isinstance(rows.data, FileArray)
        assert bool(kept_bytes(rows)) == whole


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="maps are listed in /proc")
def test_no_file_of_the_user_is_mapped(files):
    correction = unhub.fit("is", targets=files["targets"], query_bank=files["query_bank"], memory=SMALL)
    correction.search(others(3))
    assert str(files["targets"].parent) not in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("name", ["is", "sn"])
def test_files_that_are_read_whole_are_part_of_the_memory(tmp_path, name):
    """10 MB of vectors and 96 MB of scores, in 32 MB."""
    rng, memory = np.random.default_rng(0), 32_000_000
    for part, rows in {"targets": 4000, "query_bank": 6000}.items():
        np.save(tmp_path / f"{part}.npy", unit_vectors(rng, rows, 256))
    given = {part: tmp_path / f"{part}.npy" for part in ("targets", "query_bank")}
    more = {"iterations": 2} if name == "sn" else {}
    unhub.fit(name, **given, memory=memory, **more)  # imports and compiles what is needed
    tracemalloc.start()
    try:
        found = unhub.fit(name, **given, memory=memory, **more)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert kept_bytes(found.targets) == 4000 * 256 * 4
    assert peak <= memory + 64 * 10_000
