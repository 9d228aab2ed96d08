"""What is called written has been handed to the disk: each file at its full size, before the call comes back."""

import os

import numpy as np
import pytest

from unhub.experiments.sweep_cache import Point, SweepCache
from unhub.stores.faiss.index import Spec
from unhub.stores.faiss.spool import Spool


@pytest.fixture
def synced(monkeypatch):
    """Path -> size of it when it was last handed to the disk."""
    seen, real = {}, os.fsync

    def record(handle):
        seen[os.readlink(f"/proc/self/fd/{handle}")] = os.fstat(handle).st_size
        real(handle)

    monkeypatch.setattr(os, "fsync", record)
    return seen


def _sizes(*files):
    return {str(each): each.stat().st_size for each in files}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux tells the name of an open file")
def test_the_spool_of_an_index_is_on_the_disk(synced, tmp_path):
    spool = Spool(tmp_path / "photos.faiss.part")
    spool.create(Spec("Flat", 4, "ip"), marked=True)
    for start in (0, 3):
        spool.append(np.arange(start, start + 3), np.ones((3, 4), dtype=np.float32))
        expected = _sizes(spool.folder / "ids", spool.folder / "vectors")
        assert {name: synced[name] for name in expected} == expected
    assert str(spool.folder) in synced


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux tells the name of an open file")
def test_a_point_of_a_sweep_is_on_the_disk(synced, tmp_path):
    kept = SweepCache(tmp_path / "sweep.jsonl", {"about": "a test"})
    for job in ("one", "two"):
        kept.add(job, [Point(0.1, 0, "train", "sn", {"R@1": 50.0}, None, {})])
        expected = _sizes(tmp_path / "sweep.jsonl")
        assert {name: synced[name] for name in expected} == expected
    assert str(tmp_path) in synced
    assert set(SweepCache(tmp_path / "sweep.jsonl", {"about": "a test"}).jobs) == {"one", "two"}
