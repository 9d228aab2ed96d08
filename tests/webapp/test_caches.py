"""Caches are bounded in bytes: many settings hold no more than was agreed, and nothing is wrong for it."""

import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from unhub.analysis import byte_cache
from unhub.analysis.byte_cache import ByteCache, affordable, bytes_of
from unhub.analysis.session import Abandoned, Session, ViewSettings
from unhub.analysis.view import view
from unhub.dataset import Media
from unhub.webapp import projection, routes


def test_many_settings_hold_no_more_bytes_than_agreed(experiment):
    few = ByteCache(300_000)
    small, whole = (replace(Session.open(experiment), cache=each) for each in (few, ByteCache(1 << 30)))
    settings = [
        ViewSettings("t2i", "val", name, tau) for tau in np.linspace(0.05, 1, 12) for name in ("is", "sn", "dbsn")
    ]
    for setting in [*settings, *settings[::-1]]:
        found, wanted = small.before_after(setting), whole.before_after(setting)
        assert few.held <= few.most
        np.testing.assert_array_equal(found.after.top, wanted.after.top)
        np.testing.assert_array_equal(found.after.bias, wanted.after.bias)
        assert view(small, found).counts_after == view(whole, wanted).counts_after
    assert whole.cache.held > 3 * few.most, "that would have been kept"
    arrays = [whole.before_after(each).after for each in settings]
    assert whole.cache.held >= sum(each.top.nbytes + each.bias.nbytes for each in arrays)


def test_nothing_is_computed_that_nobody_waits_for(experiment):
    session = Session.open(experiment)
    setting = ViewSettings("t2i", "val", "sn", 0.31)
    with pytest.raises(Abandoned):
        session.before_after(setting, lambda: False)
    assert len(session.cache) == 0
    session.before_after(setting)
    assert session.before_after(setting, lambda: False).after.top.size, "what is there already is given"


def test_the_least_recently_used_goes_first_and_the_newest_stays():
    cache = ByteCache(3000)
    for name in "abc":
        cache.put(name, bytes(700))
    assert cache.get("a") == bytes(700)
    cache.put("d", bytes(700))
    assert [cache.get(name) is not None for name in "abcd"] == [True, False, True, True]
    assert cache.held == 3 * 900
    cache.put("d", bytes(100))
    assert cache.held == 2 * 900 + 300
    cache.put("large", bytes(10_000))
    assert (len(cache), cache.held) == (1, 10_200)


def test_a_part_of_an_array_counts_as_the_whole_that_it_keeps_alive():
    whole = np.zeros((100, 10))
    assert bytes_of([whole[:3], whole[5:], whole]) == whole.nbytes


def test_a_small_machine_keeps_less(monkeypatch):
    monkeypatch.setattr(byte_cache, "default_memory", lambda: 64 << 20)
    assert ByteCache().most == affordable() == 8 << 20


def test_small_pictures_are_bounded(tmp_path):
    rng, cache = np.random.default_rng(0), ByteCache(20_000)
    for number in range(30):
        path = tmp_path / f"{number}.png"
        Image.fromarray(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(path)
        answers = [routes.media_response(Media(path, "image"), tmp_path, 64, cache).body for _ in range(2)]
        assert answers[0] == answers[1]
        assert cache.held <= cache.most
    assert 1 < len(cache) < 30


def test_maps_on_disk_are_bounded_and_other_files_stay(tmp_path):
    places = np.zeros((500, 2), dtype=np.float32)
    paths = [tmp_path / f"tsne-0-{number:024x}.npz" for number in range(10)]
    (tmp_path / "thesis.npz").write_bytes(bytes(50_000))
    for number, path in enumerate(paths):
        projection.write_cached(path, places + number, most=20_000)
        os.utime(path, (number, number))
        projection.read_cached(paths[0], 500)  # which counts as used now
        held = sum(each.stat().st_size for each in tmp_path.glob("tsne-*"))
        assert held <= 20_000
    assert paths[0].exists()
    assert paths[9].exists()
    assert not paths[1].exists()
    assert (tmp_path / "thesis.npz").exists()
    np.testing.assert_array_equal(projection.read_cached(paths[9], 500), places + 9)
    assert projection.read_cached(paths[1], 500) is None
