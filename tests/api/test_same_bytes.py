"""The same correction makes the same bytes: in every process, and again once it was loaded."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from safetensors import safe_open

import unhub
from unhub.io import write_safetensors

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

FIT = """
import hashlib, sys
import numpy as np
import unhub
rng = np.random.default_rng(3)
unit = lambda rows: (lambda x: x / np.linalg.norm(x, axis=1, keepdims=True))(rng.normal(size=(rows, 6)).astype("f4"))
fitted = unhub.fit("dbsn", targets=unit(20), query_bank=unit(30), target_bank=unit(10), tau=0.3,
                   target_ids=[f"item {n}" for n in range(20)], query_weight=np.arange(1.0, 31.0))
fitted.save(sys.argv[1])
unhub.load(sys.argv[1]).save(sys.argv[2])
"""


def test_every_process_writes_the_same_bytes(tmp_path):
    """Four seeds of Python's hashing; the table that safetensors keeps metadata in has a seed of its own."""
    started, files = [], []
    for seed in range(4):
        files += [tmp_path / f"{seed}.unhub", tmp_path / f"{seed} again.unhub"]
        command = [sys.executable, "-W", "ignore", "-c", FIT, *map(str, files[-2:])]
        started.append(subprocess.Popen(command, env=os.environ | {"PYTHONHASHSEED": str(seed)}))
    assert [process.wait() for process in started] == [0] * 4
    assert len({hashlib.sha256(file.read_bytes()).hexdigest() for file in files}) == 1


@pytest.mark.parametrize("method", ["sn", "dbsn", "is", "nnn", "dualis", "none"])
def test_saved_loaded_and_saved_again(method, unit_rows, tmp_path):
    first, second = tmp_path / "first.unhub", tmp_path / "second.unhub"
    given = {"targets": unit_rows(20, 6), "query_bank": unit_rows(30, 6).astype(np.float16)}
    if method in ("dbsn", "dualis"):
        given["target_bank"] = unit_rows(10, 6)
    unhub.fit(method, **given, normalize=True).save(first)
    unhub.load(first).save(second)
    assert first.read_bytes() == second.read_bytes()
    unhub.load(second, targets=given["targets"]).save(second)
    assert first.read_bytes() == second.read_bytes()


KINDS = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f4", ">i8"]


def test_the_package_reads_what_is_written(tmp_path, rng):
    tensors = {f"of {kind}": (rng.normal(size=(3, 5)) * 9).astype(kind) for kind in KINDS}
    tensors |= {"empty": np.empty((0, 4), np.float32), "across": np.arange(12.0).reshape(3, 4).T, "é": np.ones(1)}
    metadata = {"b": 'quotes " and \\ and é', "a": ""}
    write_safetensors(tmp_path / "x.safetensors", tensors, metadata)
    with safe_open(tmp_path / "x.safetensors", "numpy") as file:
        assert file.metadata() == metadata
        assert set(file.keys()) == set(tensors)
        for name, tensor in tensors.items():
            found = file.get_tensor(name)
            assert found.dtype == tensor.dtype.newbyteorder("<")
            np.testing.assert_array_equal(found, tensor)
    header = int.from_bytes((tmp_path / "x.safetensors").read_bytes()[:8], "little")
    assert header % 8 == 0
