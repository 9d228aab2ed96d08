"""A direction is sampled once, however many threads ask for it at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import unhub
from unhub.analysis.session import MOST_TASKS, Session, ViewSettings
from unhub.analysis.view import view

THREADS = 8


@pytest.fixture
def correction(unit_rows, tmp_path):
    np.save(tmp_path / "targets.npy", unit_rows(300, 16))
    fitted = unhub.fit("nnn", targets=str(tmp_path / "targets.npy"), query_bank=unit_rows(400, 16))
    fitted.save(tmp_path / "photos.unhub")
    return tmp_path / "photos.unhub"


@pytest.mark.parametrize("kind", ["correction", "experiment"])
def test_a_direction_is_sampled_once(kind, correction, request):
    session = Session.open(correction if kind == "correction" else request.getfixturevalue("experiment"))
    together = threading.Barrier(THREADS)

    def ask(_):
        together.wait()
        return session.sample(session.directions[0])

    with ThreadPoolExecutor(THREADS) as threads:
        samples = list(threads.map(ask, range(THREADS)))
    assert all(each is samples[0] for each in samples)


def test_no_more_than_a_few_tasks_are_held(experiment):
    session = Session.open(experiment)
    keys = [(way, bank) for way in session.directions for bank in ("val", "test queries")]
    for direction, bank in (*keys, *keys[:2]):
        assert session.before_after(ViewSettings(direction, bank, "nnn", k=1)).after.top.size
        assert list(session._tasks)[-1] == (direction, bank)
        assert len(session._tasks) <= MOST_TASKS


def test_each_array_of_an_experiment_is_opened_and_checked_once(experiment, counted):
    with counted() as (opened, checked):
        session = Session.open(experiment)
        for way in session.directions:
            for bank in ("val", "test queries"):
                view(session, session.before_after(ViewSettings(way, bank, "sn", k=1)))
    assert opened == checked == {"queries": 1, "targets": 1, "query_bank": 1, "target_bank": 1}
