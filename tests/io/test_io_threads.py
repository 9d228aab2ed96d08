"""Sixteen threads read random blocks of one open file; in a process of its own, which a crash ends."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

READ = """
import sys, threading
import numpy as np
from unhub.io import open_rows

expected = np.load(sys.argv[2])
rows = open_rows(sys.argv[1], name="targets")
start, wrong = threading.Barrier(16), []

def work(seed):
    random = np.random.default_rng(seed)
    start.wait()
    for _ in range(60):
        low = int(random.integers(0, len(expected)))
        high = low + int(random.integers(1, 40))
        try:
            if not np.array_equal(rows[low:high], expected[low:high]):
                wrong.append((low, high))
        except Exception as error:
            wrong.append(repr(error))

threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not wrong, wrong[:3]
"""


def read_by_threads(source, expected, folder) -> subprocess.CompletedProcess[str]:
    np.save(folder / "expected.npy", expected)
    command = [sys.executable, "-c", READ, str(source), str(folder / "expected.npy")]
    return subprocess.run(command, capture_output=True, text=True)


def test_sixteen_threads_read_what_one_reads(stored, tmp_path, matrix):
    done = read_by_threads(f"{stored.path}{stored.part}", matrix, tmp_path)
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])


def test_many_row_groups_of_parquet(tmp_path):
    """What killed the interpreter in eight of twelve runs, when the threads shared one reader."""
    pa = pytest.importorskip("pyarrow")
    whole = np.random.default_rng(0).standard_normal((4000, 32)).astype(np.float32)
    table = pa.table({"v": pa.FixedSizeListArray.from_arrays(whole.ravel(), 32)})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "x.parquet", row_group_size=100)
    for _ in range(2):
        done = read_by_threads(tmp_path / "x.parquet", whole, tmp_path)
        assert done.returncode == 0, (done.returncode, done.stderr[-500:])


def test_the_check_can_fail(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((60, 4), np.float32))
    done = read_by_threads(tmp_path / "x.npy", np.ones((60, 4), np.float32), tmp_path)
    assert done.returncode == 1
    assert "AssertionError" in done.stderr
